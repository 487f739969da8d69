//! Sets of points in time as sorted, disjoint, half-open intervals `[start, end)` in ns.
//!
//! Everything that asks "how long was something active" goes through here, so that no ns is counted twice. An empty
//! interval contains nothing and disappears. Joining n intervals costs a sort, every other operation one pass.

use serde::{Serialize, Serializer};

/// A stretch of time: `[start_ns, end_ns)`. Serialised as `[start, end]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window {
    /// When it begins, in ns.
    pub start_ns: u64,
    /// When it ends, in ns.
    pub end_ns: u64,
}

impl Window {
    /// From `start_ns` to `end_ns`; empty if the end is not after the start.
    pub fn new(start_ns: u64, end_ns: u64) -> Window {
        Window { start_ns, end_ns }
    }

    /// How long it is, in ns.
    pub fn len_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The time that two windows have in common, in ns.
    pub fn overlap_ns(&self, other: &Window) -> u64 {
        self.end_ns.min(other.end_ns).saturating_sub(self.start_ns.max(other.start_ns))
    }

    /// The smallest window around two.
    pub fn hull(&self, other: &Window) -> Window {
        Window::new(self.start_ns.min(other.start_ns), self.end_ns.max(other.end_ns))
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.start_ns, self.end_ns].serialize(serializer)
    }
}

/// A set of points in time: sorted, disjoint, non-empty windows that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans(Vec<Window>);

impl Spans {
    /// The union of windows in any order.
    pub(crate) fn union(windows: impl IntoIterator<Item = Window>) -> Spans {
        // Windows mostly come by start: then this needs no second list.
        let mut joined: Vec<Window> = Vec::new();
        let mut late: Vec<Window> = Vec::new();
        for window in windows.into_iter().filter(|w| w.len_ns() > 0) {
            match joined.last_mut() {
                Some(last) if window.start_ns < last.start_ns => late.push(window),
                Some(last) if window.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(window.end_ns),
                _ => joined.push(window),
            }
        }
        if late.is_empty() {
            return Spans(joined);
        }
        joined.append(&mut late);
        joined.sort_unstable();
        Spans::union(joined)
    }

    /// How much time it holds, in ns.
    pub(crate) fn total_ns(&self) -> u64 {
        self.0.iter().map(Window::len_ns).sum()
    }

    /// Its windows, in order.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.0
    }

    /// The time in both.
    pub(crate) fn intersection(&self, other: &Spans) -> Spans {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let both = Window::new(x.start_ns.max(y.start_ns), x.end_ns.min(y.end_ns));
            if both.len_ns() > 0 {
                common.push(both);
            }
            if x.end_ns < y.end_ns {
                a.next()
            } else {
                b.next()
            };
        }
        Spans(common)
    }

    /// How much time two have in common, in ns.
    pub(crate) fn overlap_ns(&self, other: &Spans) -> u64 {
        self.intersection(other).total_ns()
    }

    /// How much of it lies in each of several windows, in ns, asked by start of the window: one pass in all.
    pub(crate) fn within_each(&self) -> impl FnMut(Window) -> u64 {
        let mut from = 0;
        move |window| {
            from += self.0[from..].iter().take_while(|w| w.end_ns <= window.start_ns).count();
            self.0[from..].iter().take_while(|w| w.start_ns < window.end_ns).map(|w| w.overlap_ns(&window)).sum()
        }
    }

    /// How much of it lies in `window`, in ns, found by binary search.
    pub(crate) fn within_ns(&self, window: Window) -> u64 {
        let first = self.0.partition_point(|w| w.end_ns <= window.start_ns);
        self.0[first..].iter().take_while(|w| w.start_ns < window.end_ns).map(|w| w.overlap_ns(&window)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(windows: &[(u64, u64)]) -> Spans {
        Spans::union(windows.iter().map(|&(a, b)| Window::new(a, b)))
    }

    #[test]
    fn touching_windows_join_and_empty_ones_vanish() {
        assert_eq!(spans(&[(5, 9), (1, 5), (20, 20), (9, 7)]), spans(&[(1, 9)]));
        assert_eq!(spans(&[(5, 9), (1, 5)]).total_ns(), 8);
    }

    #[test]
    fn what_two_have_in_common() {
        let (a, b) = (spans(&[(0, 10), (20, 30)]), spans(&[(5, 22), (29, 40)]));
        assert_eq!(a.intersection(&b), spans(&[(5, 10), (20, 22), (29, 30)]));
        assert_eq!(a.overlap_ns(&b), 8);
        assert_eq!(b.within_ns(Window::new(21, 30)), 2);
        let mut within = a.within_each();
        let asked = [(0, 5), (5, 25), (5, 40), (22, 23), (50, 60)];
        assert_eq!(asked.map(|(start, end)| within(Window::new(start, end))), [5, 10, 15, 1, 0]);
        assert_eq!(spans(&[]).overlap_ns(&a), 0);
    }

    #[test]
    fn windows_that_touch_do_not_overlap_at_real_clock_values() {
        let first = Window::new(1_774_497_535_428_631_000, 1_774_497_535_428_633_256);
        let second = Window::new(1_774_497_535_428_633_256, 1_774_497_535_428_634_636);
        assert_eq!(first.overlap_ns(&second), 0);
    }
}
