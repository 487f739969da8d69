//! Texts by number: rows that say the same share one.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// A text, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

/// The texts of a capture.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    texts: Vec<Box<str>>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Strings {
    /// The symbol of a text.
    ///
    /// ```
    /// let mut strings = multicore_timeline::capture::Strings::default();
    /// let cast = strings.intern("Cast");
    /// assert_eq!(strings.intern("Cast"), cast);
    /// assert_eq!(strings.text(cast), "Cast");
    /// ```
    pub fn intern(&mut self, text: &str) -> Symbol {
        let hash = self.hasher.hash_one(text);
        if let Some(&number) = self.numbers.find(hash, |&number| &*self.texts[number as usize] == text) {
            return Symbol(number);
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        let (texts, hasher) = (&self.texts, &self.hasher);
        self.numbers.insert_unique(hash, number, |&number| hasher.hash_one(&*texts[number as usize]));
        Symbol(number)
    }

    /// The symbol of a text that some row has.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let hash = self.hasher.hash_one(text);
        self.numbers.find(hash, |&number| &*self.texts[number as usize] == text).map(|&number| Symbol(number))
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}
