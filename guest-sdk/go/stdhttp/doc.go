// Package stdhttp lets libraries that are written for net/http make their calls from activities, and from entities
// without a state: clients of services, for example.
//
//	func charge(ctx *cruster.ActivityContext, order Order) (Receipt, error) {
//		pay := payments.New(payments.WithHTTPClient(stdhttp.Client(ctx)))
//		return pay.Charge(ctx, order.Cents)
//	}
//
// A module has no sockets. The Cruster host makes the call, if the deployment was granted the server's name, as it does
// for cruster.HTTPClient, and under the same limits: a request and an answer are in memory as a whole, there are no
// trailers and no upgrades, and it is refused once the transaction of the activity has begun.
//
// Calls with GET, HEAD or OPTIONS that several goroutines make go out together, and each of these
// goroutines goes on when all have an answer. Other calls are made one after the other.
//
// In a module that imports this package, http.DefaultTransport has the host make its calls, so
// that a library also works that cannot be given a client. A copy of it does not. In a test, the
// handler of crustertest.HandleHTTP answers the calls that activities make by it; the test itself
// has the network.
//
// It is a package of its own because net/http makes a module more than twice as large: a module
// that does not import it does not have it. cruster.HTTPClient needs none of it.
package stdhttp
