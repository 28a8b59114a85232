//! The tokens of expressions: numbers with their units, names, operators.

use super::ExpressionFault;
use crate::file::units::{self, Unit};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(f64),
    /// The unit of the number before it.
    Unit(Unit),
    Name,
    Open,
    Close,
    Comma,
    Operator(&'static str),
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub at: Range<usize>,
}

pub(super) fn fault(
    at: Range<usize>,
    message: impl Into<String>,
    label: impl Into<String>,
    help: impl Into<String>,
) -> ExpressionFault {
    ExpressionFault { at, message: message.into(), label: label.into(), help: help.into() }
}

/// True if a name can be used in expressions: a letter or `_`, then letters, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionFault> {
    const OPERATORS: [&str; 14] = ["**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "^", "<", ">", "=", "%"];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let start = at;
        at += c.len_utf8();
        let number_before = matches!(tokens.last(), Some(Token { kind: TokenKind::Number(_), .. }));
        if number_before && let Some((length, unit)) = units::scan(rest) {
            at = start + length;
            tokens.push(Token { kind: TokenKind::Unit(unit), at: start..at });
            continue;
        }
        let kind = if c.is_whitespace() {
            continue;
        } else if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            at = start + number_length(rest);
            match text[start..at].parse() {
                Ok(x) if f64::is_finite(x) => TokenKind::Number(x),
                _ => return Err(fault(start..at, "number too large", "", "")),
            }
        } else if c.is_alphabetic() && c != 'π' || c == '_' {
            // a dot joins names (`crank.x`) where a letter follows it
            while let Some(c) = text[at..].chars().next() {
                let joins = c == '.' && text[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
                if !(c.is_alphanumeric() || c == '_' || joins) {
                    break;
                }
                at += c.len_utf8();
            }
            TokenKind::Name
        } else if c == '`' {
            // a name with letters that expressions have other uses for: `front-left.x`
            let Some(length) = text[at..].find('`').filter(|n| *n > 0) else {
                return Err(fault(
                    start..at,
                    "a name in backquotes that does not end",
                    "",
                    "write it as `front-left.x`",
                ));
            };
            tokens.push(Token { kind: TokenKind::Name, at: at..at + length });
            at += length + 1;
            continue;
        } else if let Some(operator) = OPERATORS.iter().find(|o| rest.starts_with(**o)) {
            at = start + operator.len();
            TokenKind::Operator(operator)
        } else {
            match c {
                '(' => TokenKind::Open,
                ')' => TokenKind::Close,
                ',' => TokenKind::Comma,
                c => {
                    let instead = match c {
                        '−' | '–' | '—' => "write `-`",
                        '×' | '·' | '⋅' => "write `*`",
                        '÷' => "write `/`",
                        'π' => "write `pi`",
                        '√' => "write `sqrt(…)`",
                        '²' => "write `^2`",
                        '³' => "write `^3`",
                        '≤' => "write `<=`",
                        '≥' => "write `>=`",
                        '[' | ']' | '{' | '}' => "use ( and )",
                        ';' => "arguments are separated by `,`",
                        _ => "not part of an expression",
                    };
                    return Err(fault(start..at, format!("unknown character `{c}`"), instead, ""));
                }
            }
        };
        tokens.push(Token { kind, at: start..at });
    }
    Ok(tokens)
}

/// Bytes of the number a text begins with: digits, a point, an exponent.
pub(in crate::file) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// The places of all names in a text, and whether each is called as a function. Empty if it cannot be read.
pub(super) fn words(text: &str) -> Vec<(Range<usize>, bool)> {
    let tokens = tokens(text).unwrap_or_default();
    let called = |i: usize| tokens.get(i + 1).is_some_and(|t| t.kind == TokenKind::Open);
    let names = tokens.iter().enumerate().filter(|(_, t)| t.kind == TokenKind::Name);
    names.map(|(i, t)| (t.at.clone(), called(i))).collect()
}
