//! `[table.NAME]`: functions of one or two variables by a grid of values, which expressions call by name.

use super::Reader;
use super::fields::TABLE;
use crate::file::expression::is_function;
use crate::file::*;
use crate::surface::Surface;

impl<'a> Reader<'a> {
    pub(super) fn read_table(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("table {}", suggest::quoted(name));
        // those of parts have dots
        let own = if span.source == 0 { name } else { name.rsplit('.').next().unwrap_or_default() };
        if is_function(name) || !expression::is_name(own) {
            let problem = Diagnostic::error(format!("a table cannot be named {}", suggest::quoted(name))).at(span);
            let label =
                if is_function(name) { "this is a function of expressions" } else { "expressions could not call it" };
            return Err(problem.label(label).help("choose another name, of letters, digits and `_`").into());
        }
        let values = self.fields(node, &what, &[TABLE])?;
        let (x, y) = (values.numbers("x"), values.optional_numbers("y").unwrap_or(&[]));
        let Some(grid) = values.node("values") else { return Ok(()) };
        let what_values = format!("`values` of {what}");
        let context = self.context();
        let row = |node: &Node| context.numbers(node, &what_values, [2, usize::MAX], units::ANY);
        let rows: Vec<Vec<f64>> = match (y.is_empty(), grid.as_array()) {
            (true, _) => vec![row(grid)?],
            (false, Some(list)) => list.iter().map(row).collect::<Result<_, _>>()?,
            (false, None) => {
                let message = format!("{what_values} must be a row of numbers for each `y`, found {}", grid.article());
                return Err(Diagnostic::error(message).at(grid.span).into());
            }
        };
        let surface =
            Surface::new(x, y, &rows).map_err(|fault| values.error_at("values", format!("{what} {fault}")))?;
        self.parameters.add_table(name, surface);
        Ok(())
    }
}
