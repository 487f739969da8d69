//! `timeline explain`: what a number means, and which way is good.

use serde::Serialize;

use crate::answer::{Answer, Table, give};
use crate::args::ExplainArgs;
use crate::failure::{Failure, Result};
use crate::fields::{FIELDS, Field};
use crate::text::{Style, Text, cell};

pub(crate) fn run(args: &ExplainArgs) -> Result<()> {
    let Some(asked) = &args.field else {
        return give(&ExplainAnswer { fields: FIELDS.iter().collect(), one: false }, &[], &args.output);
    };
    let found: Vec<&Field> = FIELDS.iter().filter(|field| field.name == asked).collect();
    if found.is_empty() {
        return Err(Failure::Usage(unknown(asked)));
    }
    give(&ExplainAnswer { fields: found, one: true }, &[], &args.output)
}

/// What to write instead of a field that is not there: those that share a word with it.
fn unknown(asked: &str) -> String {
    let words: Vec<&str> = asked.split(['_', '-', ' ']).filter(|word| word.len() > 2 && *word != "share").collect();
    let like = FIELDS.iter().map(|field| field.name).filter(|name| words.iter().any(|word| name.contains(word)));
    let like: Vec<_> = like.take(6).collect();
    if like.is_empty() {
        format!("no field is called {asked}; `timeline explain` lists them")
    } else {
        format!("no field is called {asked}; there are {}", like.join(", "))
    }
}

#[derive(Serialize)]
struct ExplainAnswer {
    fields: Vec<&'static Field>,
    #[serde(skip)]
    one: bool,
}

impl Answer for ExplainAnswer {
    const COMMAND: &'static str = "explain";

    fn text(&self, to: &mut Text) {
        if self.one {
            for field in &self.fields {
                to.line(Style::Strong, field.name);
                to.field("means", Style::Plain, "", field.meaning);
                to.field("unit", Style::Plain, "", field.unit);
                if !field.good.is_empty() {
                    to.field("good", Style::Plain, "", field.good);
                }
            }
            return;
        }
        let rows: Vec<_> = self
            .fields
            .iter()
            .map(|field| vec![(Style::Strong, field.name.to_owned()), cell(field.unit), cell(field.good)])
            .collect();
        to.table(&["field", "unit", "good"], &rows);
        to.blank();
        to.line(Style::Dim, "timeline explain FIELD says what one means");
    }

    fn table(&self) -> Table {
        let rows = self
            .fields
            .iter()
            .map(|field| [field.name, field.unit, field.good, field.meaning].map(str::to_owned).to_vec());
        Table { header: vec!["field", "unit", "good", "meaning"], rows: rows.collect() }
    }
}
