// Package populations tests populations of gorl's own agents. It is apart from the tests of package pbt, whose program
// would take too long to start with libtorch in it: they kill it many times.
package populations
