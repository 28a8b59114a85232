//! `[probe.NAME]`: points whose motion is recorded.

use super::Reader;
use super::fields::PROBE;
use crate::file::*;
use crate::model::Probe;

impl<'a> Reader<'a> {
    pub(super) fn read_probe(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let values = self.fields(node, &format!("probe {}", suggest::quoted(name)), &[PROBE])?;
        let end = self.one_end(&values)?;
        self.check_place(&values, &end, false)?;
        self.model.probes.push(Probe { name: name.to_string(), end });
        Ok(())
    }
}
