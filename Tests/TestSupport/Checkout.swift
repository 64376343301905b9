// The source folder and the build folder of the running tests.

package import Foundation

/// The checkout under test, and the folder of its build.
package enum Checkout {
    /// The folder with `Package.swift`.
    package static var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    /// The folder with the products of this build, the running test bundle among them.
    package static var products: URL {
        let program = URL(filePath: CommandLine.arguments.first ?? "").resolvingSymlinksInPath()
        return program.deletingLastPathComponent()
    }
}
