//! Numbers for moments and cuts: small, seeded, named in every failure.
//!
//! - Asked by the tests; owns its state. `MAIA_TEST_SEED` sets the seed.

/// A generator (xorshift64*).
pub struct Random(u64);

impl Random {
    /// Returns the seed of this run of the tests.
    pub fn seed() -> u64 {
        let set = std::env::var("MAIA_TEST_SEED").ok();
        set.map_or(20_261_130, |seed| seed.parse().expect("MAIA_TEST_SEED is a number"))
    }

    /// Returns the generator of one case: the same for the same `seed` and `index`.
    pub fn new(seed: u64, index: u64) -> Self {
        let mixed = (seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self(mixed | 1)
    }

    /// Returns a number from 0 to below `end`; 0 when there is none.
    pub fn up_to(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        high.checked_rem(end).unwrap_or(0)
    }
}
