// A shared library that the machine may lack.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open shared library, never closed: peers live as long as the process.
struct DynamicLibrary {
    private let handle: UnsafeMutableRawPointer

    /// Opens the first of `names` that the machine has.
    init?(_ names: [String]) {
        for name in names {
            if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
                self.handle = handle
                return
            }
        }
        return nil
    }

    /// The function called `name`; `F` must be its C type.
    func function<F>(_ name: String, as type: F.Type = F.self) throws(PeerError) -> F {
        guard let symbol = dlsym(handle, name) else { throw PeerError(peer: name, code: -1, message: "no such symbol") }
        return unsafeBitCast(symbol, to: F.self)
    }
}

/// An error of a peer, which ends the benchmark.
package struct PeerError: Error, CustomStringConvertible {
    /// The library or the call.
    package let peer: String
    /// The peer's result code.
    package let code: Int32
    /// The peer's message.
    package let message: String

    /// An error.
    package init(peer: String, code: Int32, message: String) {
        (self.peer, self.code, self.message) = (peer, code, message)
    }

    /// The call that failed, its code and its message.
    package var description: String { "\(peer) failed with \(code): \(message)" }
}
