//! The events of a Chrome trace, one at a time: bytes in, events out.
//!
//! Both forms are understood: an array of events, and an object with an array `traceEvents` among other keys. No more
//! than one block and one event are in memory. Values stay text, so that no number passes through a float.
//!
//! Read leniently where writers are careless: an array that is never closed; an event cut off by the end of the file; the
//! bare words `NaN` and `inf`, which are no JSON; single events that are broken.

use std::io::{self, Read};
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

const BLOCK: usize = 1 << 18;
/// An event, or the value of another key, above this length is no such thing.
const LONGEST: usize = 1 << 26;

/// One event; values as they stand in the file.
#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, default)]
    pub(crate) ph: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cat: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) dur: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) args: Option<&'a RawValue>,
}

/// What comes next in a trace.
pub(crate) enum Next<'a> {
    /// An event, with its number from 1.
    Event(u64, Event<'a>),
    /// An event that cannot be read.
    Broken(u64, String),
    /// The value of `otherData`.
    About(&'a [u8]),
}

/// Why reading stops early.
pub(crate) enum Stop {
    Io(io::Error),
    /// What is wrong with the text, and where.
    Text(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

/// Where in the file the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Among the keys of the outermost object.
    Object,
    Events,
    End,
}

/// The events of a trace.
pub(crate) struct Events<R> {
    from: R,
    block: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    place: Place,
    /// Whether the events are a value of an object.
    in_object: bool,
    number: u64,
    /// Bytes before `block`.
    before: u64,
}

impl<R: Read> Events<R> {
    pub(crate) fn new(from: R) -> Events<R> {
        Events {
            from,
            block: vec![0; BLOCK],
            start: 0,
            end: 0,
            at_end: false,
            place: Place::Start,
            in_object: false,
            number: 0,
            before: 0,
        }
    }

    /// Gives all events to `take`, in the order of the file. Says whether there is a place for events at all.
    pub(crate) fn each(mut self, mut take: impl FnMut(Next<'_>)) -> Result<bool, Stop> {
        let mut is_trace = false;
        while let Some(byte) = self.peek()? {
            is_trace |= self.place == Place::Events;
            match (self.place, byte) {
                (Place::End, _) => return Ok(is_trace),
                (Place::Start, b'[') => self.enter(Place::Events),
                (Place::Start, b'{') => {
                    self.in_object = true;
                    self.enter(Place::Object);
                }
                (Place::Events, b']') => self.enter(if self.in_object { Place::Object } else { Place::End }),
                (Place::Events | Place::Object, b',') => self.start += 1,
                (Place::Events, b'{') => self.event(&mut take)?,
                (Place::Events, _) => {
                    self.number += 1;
                    self.value()?;
                    take(Next::Broken(self.number, "is not an object".into()));
                }
                (Place::Object, b'}') => self.enter(Place::End),
                (Place::Object, b'"') => {
                    if let Some(about) = self.member()? {
                        take(Next::About(&self.block[about]));
                    }
                }
                (Place::Start, _) => return Err(self.wrong("neither an array nor an object")),
                (Place::Object, _) => return Err(self.wrong("no key")),
            }
        }
        // Tracers that are stopped leave arrays open; that loses nothing.
        if self.place == Place::Start { Err(self.wrong("nothing but white space")) } else { Ok(is_trace) }
    }

    fn enter(&mut self, place: Place) {
        self.start += 1;
        self.place = place;
    }

    fn wrong(&self, what: &str) -> Stop {
        Stop::Text(format!("byte {}: {what}", self.before + self.start as u64))
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            while self.start < self.end {
                let byte = self.block[self.start];
                let is_mark = self.place == Place::Start && b"\xEF\xBB\xBF".contains(&byte);
                if !is_mark && !byte.is_ascii_whitespace() {
                    return Ok(Some(byte));
                }
                self.start += 1;
            }
            if self.at_end {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Parses one event where it stands, reading on if it is not all there.
    fn event(&mut self, take: &mut impl FnMut(Next<'_>)) -> Result<(), Stop> {
        self.number += 1;
        loop {
            let mut values = serde_json::Deserializer::from_slice(&self.block[self.start..self.end]).into_iter();
            match values.next() {
                Some(Ok(event)) => {
                    take(Next::Event(self.number, event));
                    self.start += values.byte_offset();
                    return Ok(());
                }
                Some(Err(error)) if error.is_eof() && !self.at_end && self.end - self.start <= LONGEST => {
                    self.fill()?
                }
                _ => return self.odd_event(take),
            }
        }
    }

    /// Parses an event that is not quite JSON, or gives it up.
    fn odd_event(&mut self, take: &mut impl FnMut(Next<'_>)) -> Result<(), Stop> {
        let Some(length) = self.balanced()? else {
            let why = if self.at_end { "the file ends inside of it" } else { "is too long for an event" };
            take(Next::Broken(self.number, why.into()));
            self.place = Place::End;
            return Ok(());
        };
        let text = without_bare_words(&self.block[self.start..self.start + length]);
        self.start += length;
        match serde_json::from_slice(&text) {
            Ok(event) => take(Next::Event(self.number, event)),
            Err(error) => take(Next::Broken(self.number, error.to_string())),
        }
        Ok(())
    }

    /// The value of one key of the outermost object, if it is of use; events are entered.
    fn member(&mut self) -> Result<Option<Range<usize>>, Stop> {
        let key = self.value()?;
        let key = self.block[key].to_vec();
        if self.peek()? != Some(b':') {
            return Err(self.wrong("a key without a value"));
        }
        self.start += 1;
        match (key.as_slice(), self.peek()?) {
            (b"\"traceEvents\"", Some(b'[')) => {
                self.enter(Place::Events);
                Ok(None)
            }
            (b"\"otherData\"", Some(_)) => self.value().map(Some),
            _ => self.value().map(|_| None),
        }
    }

    /// Where the value at the next byte is; it is passed over.
    fn value(&mut self) -> Result<Range<usize>, Stop> {
        let Some(first) = self.peek()? else { return Err(self.wrong("a value is missing")) };
        let length = if matches!(first, b'{' | b'[' | b'"') { self.balanced()? } else { self.scalar()? };
        let Some(length) = length else { return Err(self.wrong("a value that does not end")) };
        let range = self.start..self.start + length;
        self.start = range.end;
        Ok(range)
    }

    /// The length of a number or a word.
    fn scalar(&mut self) -> io::Result<Option<usize>> {
        let mut at = 0;
        loop {
            let rest = &self.block[self.start..self.end];
            if let Some(more) =
                rest[at..].iter().position(|b| matches!(b, b',' | b']' | b'}') || b.is_ascii_whitespace())
            {
                // A stray closing bracket is passed over alone.
                return Ok(Some((at + more).max(1)));
            }
            if self.at_end || rest.len() > LONGEST {
                return Ok(Some(rest.len()));
            }
            at = rest.len();
            self.fill()?;
        }
    }

    /// The length of an object, an array or a text, by brackets and quotes alone.
    fn balanced(&mut self) -> io::Result<Option<usize>> {
        let (mut at, mut depth, mut quoted, mut escaped) = (0, 0usize, false, false);
        loop {
            for &byte in &self.block[self.start + at..self.end] {
                at += 1;
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b'{' | b'[' if !quoted => depth += 1,
                    b'}' | b']' if !quoted => depth -= 1,
                    _ => continue,
                }
                if depth == 0 && !quoted && !escaped {
                    return Ok(Some(at));
                }
            }
            if self.at_end || at > LONGEST {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Reads on, behind what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.block.copy_within(self.start..self.end, 0);
            self.before += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.block.len() {
            self.block.resize(self.block.len() * 2, 0);
        }
        loop {
            match self.from.read(&mut self.block[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

/// An event in which `NaN`, `inf`, .. are `null`. (PyTorch writes the bandwidth of a copy that lasted no time so.)
fn without_bare_words(text: &[u8]) -> Vec<u8> {
    let mut patched = Vec::with_capacity(text.len());
    let (mut quoted, mut escaped, mut at) = (false, false, 0);
    while at < text.len() {
        let byte = text[at];
        if quoted {
            (escaped, quoted) = if escaped { (false, true) } else { (byte == b'\\', byte != b'"') };
        } else if byte == b'"' {
            quoted = true;
        } else if let Some(length) = bare_word(&text[at..]) {
            patched.extend_from_slice(b"null");
            at += length;
            continue;
        }
        patched.push(byte);
        at += 1;
    }
    patched
}

fn bare_word(text: &[u8]) -> Option<usize> {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let letters = text[sign..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = text[sign..sign + letters].to_ascii_lowercase();
    matches!(word.as_slice(), b"nan" | b"inf" | b"infinity").then_some(sign + letters)
}
