// Package pgtest gives tests a real Postgres.
//
// If CRUSTER_TEST_POSTGRES holds a connection string, that server is used ("scripts/postgres.sh run" starts one and
// sets it). Otherwise the first test that asks starts a private server, which ends with the test process. It has the
// settings of production but for fsync, because no test cuts the power. On a machine without Postgres the test fails
// and says how to install it: a test that skips itself proves nothing.
//
// A package whose tests use it calls Main in its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
package pgtest
