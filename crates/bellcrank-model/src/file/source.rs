//! Texts, and places in them.

/// A text under the name the user knows it by.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The path as the user typed it, or `command line`.
    pub name: String,
    /// The text, without a byte-order mark.
    pub text: String,
}

/// The texts of one document; [`Span::source`] counts in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources(pub Vec<Source>);

/// A range of bytes in one of the texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which text: 0 is the file, the overrides follow.
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// A place as people count it: line and column start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl Source {
    /// A text; a byte-order mark at its start is dropped.
    pub fn new(name: &str, mut text: String) -> Source {
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Source { name: name.into(), text }
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        let start = self.line(byte).0;
        let line = 1 + self.text[..start].bytes().filter(|b| *b == b'\n').count();
        Position { line, column: 1 + self.text[start..self.boundary(byte)].chars().count() }
    }

    /// The first byte of the line that holds `byte`, and the line without its end.
    pub fn line(&self, byte: usize) -> (usize, &str) {
        let byte = self.boundary(byte);
        let start = self.text[..byte].rfind('\n').map_or(0, |n| n + 1);
        let rest = &self.text[start..];
        let line = rest.split('\n').next().unwrap_or(rest);
        (start, line.strip_suffix('\r').unwrap_or(line))
    }

    /// The nearest start of a character at or before `byte`.
    pub fn boundary(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }
}

impl Sources {
    /// One text alone.
    pub fn new(file: Source) -> Sources {
        Sources(vec![file])
    }

    /// The text a span points into.
    pub fn of(&self, span: Span) -> Option<&Source> {
        self.0.get(span.source as usize)
    }

    /// The characters of a span.
    pub fn text(&self, span: Span) -> &str {
        self.of(span).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }
}

impl Span {
    /// The bytes `start..end` of a text. Texts above 4 GB are refused before spans are made.
    pub fn new(source: u32, start: usize, end: usize) -> Span {
        Span { source, start: start as u32, end: end.max(start) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_in_lf_or_crlf() {
        let s = Source::new("a", "\u{feff}äb\r\ncd\n\nx".into());
        let at = |byte| (s.position(byte).line, s.position(byte).column);
        assert_eq!([at(0), at(1), at(2), at(3)], [(1, 1), (1, 1), (1, 2), (1, 3)]);
        assert_eq!([at(5), at(7), at(8), at(9), at(99)], [(2, 1), (2, 3), (3, 1), (4, 1), (4, 2)]);
        assert_eq!(s.line(2), (0, "äb"));
        assert_eq!(s.line(6), (5, "cd"));
        assert_eq!(s.line(8), (8, ""));
        assert_eq!(s.line(10), (9, "x"));
    }
}
