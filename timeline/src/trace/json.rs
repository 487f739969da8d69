//! The few pieces of JSON that a trace is made of, written without a tree in between.

use std::fmt::{self, Display, Write};

/// A text as a JSON string, quotes included.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                // A page puts JSON into a script, which `</script>` in a text would end.
                '<' => f.write_str("\\u003c")?,
                control if u32::from(control) < 0x20 => write!(f, "\\u{:04x}", u32::from(control))?,
                // Line ends to some readers of scripts.
                '\u{2028}' | '\u{2029}' => write!(f, "\\u{:04x}", u32::from(char))?,
                char => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}

/// Nanoseconds as a JSON number of microseconds with three decimals, without a float on the way.
pub(crate) struct Micros(pub(crate) u64);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// An object being written: `{"a":1,"b":"x"}`.
#[derive(Debug)]
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Object {
        Object("{".into())
    }

    /// Adds a key with a number, or anything else that is JSON as it is displayed.
    pub(crate) fn with(mut self, key: &str, value: impl Display) -> Object {
        self.put(key, value);
        self
    }

    pub(crate) fn put(&mut self, key: &str, value: impl Display) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // Writing into a string cannot fail.
        let _ = write!(self.0, "{}:{value}", Quoted(key));
    }

    /// Adds a key with a text, unless the text is empty.
    pub(crate) fn put_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, Quoted(text));
        }
    }

    pub(crate) fn text(mut self, key: &str, text: &str) -> Object {
        self.put(key, Quoted(text));
        self
    }

    pub(crate) fn put_some(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(Quoted("a\"b\\c\n\u{1}</script>ü").to_string(), r#""a\"b\\c\n\u0001\u003c/script>ü""#);
    }

    #[test]
    fn times_beyond_what_a_float_resolves_keep_their_last_digit() {
        assert_eq!(Micros(1_774_497_535_428_633_257).to_string(), "1774497535428633.257");
        assert_eq!(Micros(7).to_string(), "0.007");
    }
}
