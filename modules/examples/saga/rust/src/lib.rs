//! Books a trip of three parts. If one of them cannot be booked, or if the booking
//! is interrupted, the workflow gives the booked parts back in reverse order.

mod trip;

use cruster::prelude::*;

pub use trip::{Booking, Part, Trip};

/// The request of [`BookTrip`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct TripRequest {
    pub trip_id: String,
    /// Names the part that cannot be booked: flight, hotel or car.
    #[serde(default)]
    pub fail_at: String,
    /// A durable pause after each part, in milliseconds.
    #[serde(default)]
    pub pause_ms: i64,
}

/// The result of [`BookTrip`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct TripResult {
    pub trip_id: String,
    pub status: Status,
    pub booked: Vec<Part>,
    pub compensated: Vec<Part>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// How a booking ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Booked,
    Compensated,
}

/// Books a flight, a hotel and a car, or none of them.
#[workflow]
pub struct BookTrip;

#[workflow_impl(key = |request: &TripRequest| request.trip_id.clone(), hash = false, activity_groups(Trip))]
impl BookTrip {
    async fn execute(&self, request: TripRequest) -> Result<TripResult> {
        if request.trip_id.is_empty() {
            cruster::bail!("invalid_trip", "a trip needs an id");
        }
        let trip_id = request.trip_id.clone();
        let mut booked = Vec::new();
        let Err(failure) = self.book_all(&request, &mut booked).await else {
            return Ok(TripResult {
                trip_id,
                booked,
                ..TripResult::default()
            });
        };
        // An interrupt must not stop the compensation halfway: hence the shield.
        self.shield(self.give_all_back(&trip_id, &booked)).await?;
        if failure.is_interrupted() {
            return Err(failure);
        }
        booked.reverse();
        Ok(TripResult {
            trip_id,
            status: Status::Compensated,
            booked: Vec::new(),
            compensated: booked,
            reason: failure.to_string(),
        })
    }

    /// Books part by part. A part is noted before it is booked: an interrupted wait
    /// does not tell whether the booking took place, so that part is given back too.
    async fn book_all(&self, request: &TripRequest, booked: &mut Vec<Part>) -> Result<()> {
        for part in Part::ALL {
            booked.push(part);
            let booking = Booking {
                trip_id: request.trip_id.clone(),
                part,
                fail: part.as_str() == request.fail_at,
            };
            if let Err(failure) = self.book(booking).await {
                if !failure.is_interrupted() {
                    booked.pop();
                }
                return Err(failure);
            }
            if let Ok(pause @ 1..) = u64::try_from(request.pause_ms) {
                self.sleep(Duration::from_millis(pause)).await?;
            }
        }
        Ok(())
    }

    /// Gives the bookings back, last part first.
    async fn give_all_back(&self, trip_id: &str, booked: &[Part]) -> Result<()> {
        for &part in booked.iter().rev() {
            self.give_back(Booking {
                trip_id: trip_id.to_owned(),
                part,
                fail: false,
            })
            .await?;
        }
        Ok(())
    }
}

cruster::module! {
    workflows: [BookTrip],
    migrations: [trip::BOOKINGS, trip::LOG],
}
