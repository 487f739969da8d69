//! Expressions: what gives a tensor, what names a stream, what decides.

use crate::generate::function::{Form, Function};
use crate::generate::scope::{Kind, Place};

impl Function<'_> {
    pub(crate) fn constant(&mut self) -> String {
        format!("{}.5", self.random.below(3))
    }

    /// The places that may be read, or written.
    pub(crate) fn places(&self, mutable: bool) -> Vec<Place> {
        let mut places = self.scope.places(mutable);
        // What to wait for is kept by variable: for one field, also what the others wait for.
        let one_field = self.exact && !self.straight;
        places.retain(|place| !one_field || !matches!(place.field, Some("right" | "v")));
        places
    }

    pub(crate) fn place(&mut self) -> Place {
        let places = self.places(false);
        // `x` or `base` is always there.
        places[self.random.below(places.len())].clone()
    }

    /// A place to write, that does not overlap with another.
    pub(crate) fn target(&mut self) -> Option<Place> {
        let places = self.places(true);
        (!places.is_empty()).then(|| places[self.random.below(places.len())].clone())
    }

    /// `&place`
    pub(crate) fn read(&mut self) -> String {
        let mut places = self.places(false);
        // What is computed from a `mut` variable may hold a borrow of it, by its syntax.
        places.retain(|place| !self.exact || !place.mutable);
        places[self.random.below(places.len())].read()
    }

    /// `&place`, beside a mutable borrow of `other`.
    pub(crate) fn read_beside(&mut self, other: &Place) -> Option<String> {
        let mut places = self.places(false);
        // Elements of one container are one place to the borrow checker.
        places.retain(|place| !place.overlaps(other));
        (!places.is_empty()).then(|| places[self.random.below(places.len())].read())
    }

    /// A condition that the input decides.
    pub(crate) fn condition(&mut self) -> &'static str {
        if self.form == Form::Recurse && self.random.chance(30) { "depth > 1" } else { "flags.next()" }
    }

    /// A number of iterations: zero, one or many.
    pub(crate) fn iterations(&mut self) -> String {
        match self.random.below(5) {
            0 | 1 => "flags.count()".to_owned(),
            n => (n - 1).to_string(),
        }
    }

    /// An expression that launches something, mostly, and gives a tensor.
    pub(crate) fn value(&mut self) -> String {
        let (a, b, c) = (self.read(), self.read(), self.constant());
        match self.random.below(if self.straight { 9 } else { 14 }) {
            0..=2 => format!("affine({a}, {c})?"),
            3..=5 => format!("combine({a}, {b})?"),
            6 => format!("affine({a}, {c})?.minus({b})?"),
            7 => self.method(&b, &c),
            8 => format!("{{ let inner = affine({a}, {c})?; combine(&inner, {b})? }}"),
            9 => {
                let condition = self.condition();
                format!("if {condition} {{ affine({a}, {c})? }} else {{ combine({a}, {b})? }}")
            }
            10 => {
                let (condition, label) = (self.condition(), self.fresh("'b"));
                format!(
                    "{label}: {{ let inner = affine({a}, {c})?; if {condition} {{ break {label} inner; }} combine(&inner, {b})? }}"
                )
            }
            11 if !self.exact => {
                let place = self.place();
                format!("{}.clone()", place.expr.trim_start_matches('*'))
            }
            _ => self.call().unwrap_or_else(|| format!("combine({a}, {b})?")),
        }
    }

    fn method(&mut self, b: &str, c: &str) -> String {
        let place = self.place();
        let receiver = place.expr.trim_start_matches('*');
        // By its syntax it may write.
        if self.exact {
            return format!("affine({b}, {c})?.minus({b})?");
        }
        format!("{receiver}.minus(&affine({b}, {c})?)?")
    }

    /// A call of another function.
    fn call(&mut self) -> Option<String> {
        let most = if self.loops == 0 { 1 } else { 0 };
        let fits: Vec<_> =
            self.callable.iter().filter(|c| c.level <= most && c.form != Form::Update).cloned().collect();
        // What a function does is done on one stream, to its caller; on which ones, only the function knows.
        if fits.is_empty() || self.calls >= 3 || self.exact {
            return None;
        }
        let callee = fits[self.random.below(fits.len())].clone();
        let (name, read) = (&callee.name, self.read());
        let call = match callee.form {
            Form::Make => format!("{name}(streams, {read}, flags)?"),
            Form::Consume => format!("{name}(streams, ({read}).clone(), flags)?"),
            Form::Recurse => format!("{name}(streams, {read}, {}, flags)?", self.random.below(3)),
            Form::Look | Form::Step => {
                let states = self.scope.of(&[Kind::State], callee.form == Form::Step);
                let root = *states.first()?;
                let state = self.scope.0[root].name.clone();
                let all = Place { root, field: None, expr: state.clone(), mutable: true };
                let read = if callee.form == Form::Step { self.read_beside(&all)? } else { read };
                format!("{state}.{name}(streams, {read}, flags)?")
            }
            Form::Entry | Form::Update => return None,
        };
        self.calls += 1;
        self.level = self.level.max(callee.level + 1);
        Some(call)
    }

    /// A call that updates `target`.
    pub(crate) fn call_update(&mut self, target: &Place) -> Option<String> {
        let most = if self.loops == 0 { 1 } else { 0 };
        let fits: Vec<_> =
            self.callable.iter().filter(|c| c.level <= most && c.form == Form::Update).cloned().collect();
        if fits.is_empty() || self.calls >= 3 || self.exact {
            return None;
        }
        let callee = fits[self.random.below(fits.len())].clone();
        let read = self.read_beside(target)?;
        self.calls += 1;
        self.level = self.level.max(callee.level + 1);
        Some(format!("{}(streams, {}, {read}, flags)?", callee.name, target.write()))
    }

    pub(crate) fn stream(&mut self) -> String {
        let n = self.streams;
        match self.random.below(14) {
            _ if self.straight => format!("s{}", self.random.below(n)),
            0 => "main".to_owned(),
            // Of a computed stream only the function knows whether it is one of the others.
            _ if self.exact => format!("s{}", self.random.below(n)),
            1 if self.loops > 0 => format!("&streams[i % {n}]"),
            2 => format!("&streams[flags.count() % {n}]"),
            3 => match self.scope.of(&[Kind::State], false).first() {
                Some(&state) => format!("{}.side", self.scope.0[state].name),
                None => "s1".to_owned(),
            },
            _ => format!("s{}", self.random.below(n)),
        }
    }

    pub(crate) fn header(&mut self) -> String {
        let stream = self.stream();
        let cores = if self.random.chance(20) {
            format!(", cores(vector = {})", 1 + self.random.below(48))
        } else {
            String::new()
        };
        let produced: Vec<String> = self
            .scope
            .of(&[Kind::Tensor], false)
            .into_iter()
            .filter(|&v| self.scope.0[v].produced)
            .map(|v| self.scope.0[v].name.clone())
            .collect();
        let effect = if produced.is_empty() || self.straight || !self.random.chance(8) {
            String::new()
        } else {
            let name = &produced[self.random.below(produced.len())];
            let what = if self.exact || self.random.chance(60) { "after" } else { "reads" };
            format!(", {what}({name})")
        };
        format!("{stream}{cores}{effect}")
    }
}
