//! Texts by number: rows that say the same share one.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// A text, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

impl Symbol {
    /// The place of the text among those of its capture.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

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
        self.known(text.as_bytes()).unwrap_or_else(|| self.add(text))
    }

    /// The symbol of a text that may not be UTF-8; what is not is replaced.
    pub(crate) fn intern_bytes(&mut self, text: &[u8]) -> Symbol {
        self.known(text).unwrap_or_else(|| self.intern_new(text))
    }

    #[cold]
    fn intern_new(&mut self, text: &[u8]) -> Symbol {
        self.intern(&String::from_utf8_lossy(text))
    }

    fn known(&self, text: &[u8]) -> Option<Symbol> {
        let hash = self.hasher.hash_one(text);
        self.numbers.find(hash, |&number| self.texts[number as usize].as_bytes() == text).map(|&number| Symbol(number))
    }

    #[cold]
    fn add(&mut self, text: &str) -> Symbol {
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        let (texts, hasher) = (&self.texts, &self.hasher);
        let hash_of = |&number: &u32| hasher.hash_one(texts[number as usize].as_bytes());
        self.numbers.insert_unique(hash_of(&number), number, hash_of);
        Symbol(number)
    }

    /// The symbol of a text that some row has.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.known(text.as_bytes())
    }

    /// All texts, in the order of their symbols.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}
