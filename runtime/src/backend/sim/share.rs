//! Who gets how much of what is shared: memory and links, max-min fair by demand.
//!
//! A *pipe* carries a number of bytes a nanosecond. What runs asks each pipe that it uses for a rate, and goes as fast as
//! the scarcest of them lets it: at speed 1 it gets all it asks for. The largest flows of all users rise together, like
//! water in vessels that are joined, until one has all it asks for or one of its pipes is full; the others rise on.

use smallvec::SmallVec;

/// A pipe's number.
pub(crate) type Pipe = u32;

/// Rates asked of pipes, in bytes a nanosecond; each pipe once.
pub(crate) type Demands = SmallVec<[(Pipe, f64); 3]>;

/// A user whose flows still rise.
struct Rising {
    user: usize,
    /// Its largest flow.
    most: f64,
}

/// Sets `speeds[i]`, at most 1, for the user with `demands[i]`.
///
/// Guaranteed: no pipe carries more than its capacity, and whoever is slower than 1 uses a full pipe in which nobody has a
/// larger flow that could be given to it.
pub(crate) fn share(capacities: &[f64], demands: &[&Demands], speeds: &mut Vec<f64>) {
    speeds.clear();
    speeds.resize(demands.len(), 1.0);
    let mut left: SmallVec<[f64; 8]> = SmallVec::from_slice(capacities);
    let mut rising: SmallVec<[Rising; 16]> = SmallVec::new();
    for (user, demands) in demands.iter().enumerate() {
        let most = demands.iter().fold(0.0, |most, &(_, rate)| f64::max(most, rate));
        if most > 0.0 {
            rising.push(Rising { user, most });
        }
    }
    while !rising.is_empty() {
        // What each pipe's load grows by when the largest flows grow by one.
        let mut growth: SmallVec<[f64; 8]> = SmallVec::from_elem(0.0, left.len());
        for r in &rising {
            demands[r.user].iter().for_each(|&(pipe, rate)| growth[pipe as usize] += rate / r.most);
        }
        let full = |pipe: usize| left[pipe].max(0.0) / growth[pipe];
        let first_full = (0..left.len()).filter(|&p| growth[p] > 0.0).map(full).fold(f64::INFINITY, f64::min);
        let content = rising.iter().map(|r| r.most).fold(f64::INFINITY, f64::min);
        let level = first_full.min(content);
        let stops = |r: &Rising| {
            r.most <= level || demands[r.user].iter().any(|&(p, rate)| rate > 0.0 && full(p as usize) <= level)
        };
        let (stopped, still): (SmallVec<[Rising; 16]>, SmallVec<[Rising; 16]>) = rising.into_iter().partition(stops);
        for r in stopped {
            speeds[r.user] = (level / r.most).min(1.0);
            demands[r.user].iter().for_each(|&(pipe, rate)| left[pipe as usize] -= rate * speeds[r.user]);
        }
        rising = still;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(capacities: &[f64], demands: &[&[(Pipe, f64)]]) -> Vec<f64> {
        let demands: Vec<Demands> = demands.iter().map(|d| Demands::from_slice(d)).collect();
        let mut speeds = Vec::new();
        share(capacities, &demands.iter().collect::<Vec<_>>(), &mut speeds);
        speeds
    }

    #[test]
    fn who_asks_for_little_gets_it() {
        assert_eq!(speeds(&[10.0], &[&[(0, 2.0)], &[(0, 20.0)]]), [1.0, 0.4]);
        assert_eq!(speeds(&[10.0], &[&[(0, 5.0)], &[(0, 5.0)]]), [1.0, 1.0]);
        assert_eq!(speeds(&[10.0], &[&[(0, 10.0)], &[(0, 10.0)]]), [0.5, 0.5]);
        assert_eq!(speeds(&[12.0], &[&[(0, 1.0)], &[(0, 8.0)], &[(0, 8.0)]]), [1.0, 5.5 / 8.0, 5.5 / 8.0]);
    }

    #[test]
    fn what_one_pipe_holds_back_leaves_room_in_another() {
        // The first is held back to a half by pipe 0, so pipe 1 has 5 of 10 left for the second.
        let speeds = speeds(&[5.0, 10.0], &[&[(0, 10.0), (1, 10.0)], &[(1, 5.0)]]);
        assert_eq!(speeds, [0.5, 1.0]);
    }

    #[test]
    fn no_pipe_carries_more_than_it_can() {
        // Pseudo-random demands; every pipe must be within its capacity, and every user held back by a full pipe.
        let mut x = 1u64;
        let mut next = |n: u64| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 33) % n
        };
        for _ in 0..2000 {
            let capacities: Vec<f64> = (0..4).map(|_| 1.0 + next(20) as f64).collect();
            let demands: Vec<Demands> = (0..1 + next(7))
                .map(|_| {
                    (0..4)
                        .filter(|_| next(2) == 0)
                        .collect::<Vec<_>>()
                        .iter()
                        .map(|&p| (p, 1.0 + next(15) as f64))
                        .collect()
                })
                .collect();
            let mut speeds = Vec::new();
            share(&capacities, &demands.iter().collect::<Vec<_>>(), &mut speeds);
            let load = |pipe: u32| -> f64 {
                demands
                    .iter()
                    .zip(&speeds)
                    .flat_map(|(d, s)| d.iter().filter(|(p, _)| *p == pipe).map(move |(_, r)| r * s))
                    .sum()
            };
            for (pipe, capacity) in capacities.iter().enumerate() {
                assert!(load(pipe as u32) <= capacity * (1.0 + 1e-12), "{demands:?} {capacities:?} {speeds:?}");
            }
            for (d, s) in demands.iter().zip(&speeds) {
                let full = |p: u32| load(p) >= capacities[p as usize] * (1.0 - 1e-12);
                assert!(*s == 1.0 || d.iter().any(|(p, _)| full(*p)), "{demands:?} {capacities:?} {speeds:?}");
            }
        }
    }
}
