// The only file that imports the platform's C library: what the engine needs from it, under Swift names.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The operating system, as far as the engine knows it.
package enum Platform {
    /// The operating system's words for error number `errno`.
    package static func message(of errno: Int32) -> String {
        // SAFETY: `strerror` returns a NUL-terminated string that lives until the next call in this thread.
        unsafe String(cString: strerror(errno))
    }
}
