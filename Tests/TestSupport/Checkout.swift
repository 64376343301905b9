// Where the tests were built from and built to.

package import Foundation

/// The checkout under test, and the folder of its build.
package enum Checkout {
    /// The folder with `Package.swift`.
    package static var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    /// The folder of the products of this build: where the running test bundle lies.
    package static var products: URL {
        let program = URL(filePath: CommandLine.arguments.first ?? "").resolvingSymlinksInPath()
        return program.deletingLastPathComponent()
    }
}
