//! The steps of a trip.

use cruster::prelude::*;

/// A part of a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Flight,
    Hotel,
    Car,
}

impl Part {
    /// In the order in which they are booked.
    pub const ALL: [Part; 3] = [Part::Flight, Part::Hotel, Part::Car];

    /// The part as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Part::Flight => "flight",
            Part::Hotel => "hotel",
            Part::Car => "car",
        }
    }
}

/// The input of the activities of [`Trip`].
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Booking {
    pub trip_id: String,
    pub part: Part,
    pub fail: bool,
}

/// Books parts of trips and gives them back.
#[activity_group]
pub struct Trip;

#[activity_group_impl(retries = 3, backoff = "exponential", base = "100ms")]
impl Trip {
    /// Books one part.
    #[activity(name = "Trip.Book")]
    async fn book(&self, booking: Booking) -> Result<bool> {
        let part = booking.part.as_str();
        if booking.fail {
            return Err(cruster::err!("sold_out", "there is no {part} left").non_retryable());
        }
        self.transaction().execute(
            "INSERT INTO bookings (trip_id, part, status) VALUES ($1, $2, 'booked')
             ON CONFLICT (trip_id, part) DO UPDATE SET status = 'booked'",
            (&booking.trip_id, part),
        )?;
        self.record(&booking, "book")?;
        Ok(true)
    }

    /// Gives one part back. It does no harm if the part was never booked. It must
    /// succeed in the end: hence the many retries.
    #[activity(name = "Trip.GiveBack", retries = 100)]
    async fn give_back(&self, booking: Booking) -> Result<bool> {
        let given = self.transaction().execute(
            "UPDATE bookings SET status = 'given_back' WHERE trip_id = $1 AND part = $2",
            (&booking.trip_id, booking.part.as_str()),
        )?;
        self.record(&booking, "give_back")?;
        Ok(given > 0)
    }

    /// Appends to the log of the trip. Its position is counted in the same
    /// transaction, so the log shows the order in which things were committed.
    fn record(&self, booking: &Booking, action: &str) -> Result<()> {
        let tx = self.transaction();
        let trip_id = &booking.trip_id;
        let before: i64 = tx.query_one(
            "SELECT COUNT(*) FROM booking_log WHERE trip_id = $1",
            (trip_id,),
        )?;
        tx.execute(
            "INSERT INTO booking_log (trip_id, position, action, part) VALUES ($1, $2, $3, $4)",
            (trip_id, before + 1, action, booking.part.as_str()),
        )?;
        Ok(())
    }
}

pub(crate) const BOOKINGS: Migration = Migration::new(
    1,
    "bookings",
    "
CREATE TABLE bookings (
	trip_id TEXT NOT NULL,
	part    TEXT NOT NULL,
	status  TEXT NOT NULL,
	PRIMARY KEY (trip_id, part)
)",
);

pub(crate) const LOG: Migration = Migration::new(
    2,
    "log",
    "
CREATE TABLE booking_log (
	trip_id  TEXT NOT NULL,
	position BIGINT NOT NULL,
	action   TEXT NOT NULL,
	part     TEXT NOT NULL
)",
);
