//! The memory for password hashing.

use argon2::password_hash::phc::Output;
use argon2::{Algorithm, Argon2, Block, Params, Version};

/// Reusable memory for one password hash at a time. The memory grows to the size that the most demanding hash has
/// needed, and is freed only when this value is dropped. The memory is cleared after each hash, so it contains no trace
/// of a password between two hashes.
#[derive(Default)]
pub struct HashMemory {
    blocks: Vec<Block>,
}

impl HashMemory {
    pub(super) fn hash(&mut self, password: &str, salt: &[u8], params: &Params) -> Option<Output> {
        if self.blocks.len() < params.block_count() {
            self.blocks.reserve_exact(params.block_count() - self.blocks.len());
            self.blocks.resize(params.block_count(), Block::new());
        }
        let mut bytes = [0; Output::MAX_LENGTH];
        let bytes = &mut bytes[..params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN)];
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
        let hashed = argon2.hash_password_into_with_memory(password.as_bytes(), salt, bytes, &mut self.blocks);
        // The last block reveals the hash, and any other block makes it cheaper to guess passwords.
        self.blocks.fill(Block::new());
        let output = hashed.ok().and_then(|()| Output::new(bytes).ok());
        bytes.fill(0);
        output
    }
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::phc::Salt;

    use super::super::{Real, World};
    use super::*;

    #[test]
    fn the_memory_is_cleared_and_reused_after_each_hash() {
        let (world, mut memory): (Box<dyn World>, _) = (Box::new(Real::new()), HashMemory::default());
        let hash = world.hash_password_in("correct horse battery", &mut memory);
        let (address, count) = (memory.blocks.as_ptr(), memory.blocks.len());
        assert_eq!(count, 19 * 1_024);
        for password in ["correct horse battery", "another horse battery"] {
            assert_eq!(world.password_matches(password, &hash, &mut memory), password.starts_with("correct"));
            assert!(memory.blocks.iter().all(|block| block.as_ref().iter().all(|word| *word == 0)));
        }
        assert_eq!((memory.blocks.as_ptr(), memory.blocks.len()), (address, count));
    }

    #[test]
    fn a_hash_is_verified_with_the_cost_that_it_names() {
        let world: Box<dyn World> = Box::new(Real::new());
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(256, 3, 2, None).unwrap());
        let mut output = [0; 32];
        argon2.hash_password_into(b"password of two lanes", b"somesaltsomesalt", &mut output).unwrap();
        let salt = Salt::new(b"somesaltsomesalt").unwrap();
        let hash = format!("$argon2id$v=19$m=256,t=3,p=2${salt}${}", Output::new(&output).unwrap());
        let mut memory = HashMemory::default();
        assert!(world.password_matches("password of two lanes", &hash, &mut memory), "{hash}");
        assert!(!world.password_matches("password of two lines", &hash, &mut memory));
        assert!(!world.password_matches("password of two lanes", &hash.replace("argon2id", "argon2i"), &mut memory));
        assert!(!world.password_matches("password of two lanes", &hash.replace("v=19", "v=16"), &mut memory));
    }
}
