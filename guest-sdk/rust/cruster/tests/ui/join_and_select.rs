//! More than the macros take, and input they cannot read.
//!
//! Both say what to do instead.

use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, n: u32) -> Result<u32, Error> {
        cruster::join!(
            self.step(1),
            self.step(2),
            self.step(3),
            self.step(4),
            self.step(5),
            self.step(6),
            self.step(7),
            self.step(8),
            self.step(9),
        );
        cruster::select! {
            _ = self.step(1) => {}
            _ = self.step(2) => {}
            _ = self.step(3) => {}
            _ = self.step(4) => {}
            _ = self.step(5) => {}
            _ = self.step(6) => {}
            _ = self.step(7) => {}
            _ = self.step(8) => {}
            _ = self.step(9) => {}
        }
        cruster::select! {
            self.step(1) => {}
        }
        Ok(n)
    }

    #[activity]
    async fn step(&self, n: u32) -> Result<u32, Error> {
        Ok(n)
    }
}

fn main() {}
