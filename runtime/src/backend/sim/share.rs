//! Who gets how much of what is shared: memory and links, max-min fair by demand.
//!
//! A *pipe* carries a number of bytes a nanosecond. What runs asks each pipe that it uses for a rate, and goes as fast as
//! the scarcest of them lets it: at speed 1 it gets all it asks for. A pipe that cannot carry all is filled to a level:
//! who asks for less gets it, the others get as much as the level. What somebody leaves in a pipe because another one
//! holds it back is there for the rest.

use smallvec::SmallVec;

/// A pipe's number.
pub(crate) type Pipe = u32;

/// Rates asked of pipes, in bytes a nanosecond; each pipe once.
pub(crate) type Demands = SmallVec<[(Pipe, f64); 3]>;

/// Rounds after which what little is left to give away is left.
const ROUNDS: usize = 64;

/// A user of a pipe.
#[derive(Clone, Copy)]
struct Use {
    user: usize,
    /// What it asks for at speed 1.
    rate: f64,
    /// How fast this pipe lets it go.
    limit: f64,
}

/// Sets `speeds[i]`, at most 1, for the user with `demands[i]`. No pipe carries more than its capacity.
pub(crate) fn share(capacities: &[f64], demands: &[&Demands], speeds: &mut Vec<f64>) {
    speeds.clear();
    speeds.resize(demands.len(), 1.0);
    let mut pipes = crowded(capacities, demands);
    for _ in 0..ROUNDS {
        let mut changed = false;
        for at in 0..pipes.len() {
            let others = |user: usize| {
                let limits = pipes.iter().enumerate().filter(|(p, _)| *p != at).flat_map(|(_, (_, uses))| uses);
                limits.filter(|u| u.user == user).map(|u| u.limit).fold(1.0, f64::min)
            };
            let wanted: SmallVec<[f64; 16]> = pipes[at].1.iter().map(|u| u.rate * others(u.user)).collect();
            let level = level(pipes[at].0, &wanted);
            for u in &mut pipes[at].1 {
                let limit = (level / u.rate).min(1.0);
                changed |= (limit - u.limit).abs() > 1e-9;
                u.limit = limit;
            }
        }
        if !changed {
            break;
        }
    }
    for u in pipes.iter().flat_map(|(_, uses)| uses) {
        speeds[u.user] = speeds[u.user].min(u.limit);
    }
    // What the rounds left too much of, if anything.
    for (capacity, uses) in &pipes {
        let load: f64 = uses.iter().map(|u| u.rate * speeds[u.user]).sum();
        if load > *capacity {
            uses.iter().for_each(|u| speeds[u.user] *= capacity / load);
        }
    }
}

/// The pipes that cannot carry all that is asked of them, with their capacities and users.
fn crowded(capacities: &[f64], demands: &[&Demands]) -> SmallVec<[(f64, SmallVec<[Use; 16]>); 4]> {
    let uses = |pipe: usize| -> SmallVec<[Use; 16]> {
        let all = demands.iter().enumerate().flat_map(|(user, demands)| demands.iter().map(move |d| (user, *d)));
        let mine = all.filter(|(_, (p, rate))| *p as usize == pipe && *rate > 0.0);
        mine.map(|(user, (_, rate))| Use { user, rate, limit: 1.0 }).collect()
    };
    let pipes = capacities.iter().enumerate().map(|(pipe, capacity)| (*capacity, uses(pipe)));
    pipes.filter(|(capacity, uses)| uses.iter().map(|u| u.rate).sum::<f64>() > *capacity).collect()
}

/// How far a pipe can be filled when so much is wanted of it; infinite when it can carry all.
fn level(capacity: f64, wanted: &[f64]) -> f64 {
    let mut wanted: SmallVec<[f64; 16]> = SmallVec::from_slice(wanted);
    wanted.sort_unstable_by(f64::total_cmp);
    let (mut left, mut users) = (capacity, wanted.len());
    for rate in wanted {
        let equal = left / users as f64;
        if rate > equal {
            return equal;
        }
        left -= rate;
        users -= 1;
    }
    f64::INFINITY
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
    fn who_asks_little_of_a_crowded_pipe_is_not_held_back_by_what_it_asks_of_another() {
        // A matmul reads much from the cache and little from memory, beside a copy that wants all of the memory.
        assert_eq!(speeds(&[1490.0, 5960.0], &[&[(0, 190.0), (1, 2900.0)], &[(0, 1490.0)]]), [1.0, 1300.0 / 1490.0]);
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
                let full = |p: u32| load(p) >= capacities[p as usize] * (1.0 - 1e-6);
                assert!(*s == 1.0 || d.iter().any(|(p, _)| full(*p)), "{demands:?} {capacities:?} {speeds:?}");
            }
        }
    }
}
