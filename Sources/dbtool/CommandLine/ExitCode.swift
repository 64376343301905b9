// The exit codes of the tool.

/// The outcome of a run, for scripts.
///
/// These numbers are an interface: never renumber.
enum ExitCode: Int32, Sendable, CaseIterable {
    /// The run succeeded.
    case ok = 0
    /// Damage or a difference was found.
    case difference = 1
    /// The command line, or a name or predicate in it, is wrong.
    case usage = 2
    /// A file cannot be opened, read or written.
    case unavailable = 3
    /// Another process holds the file.
    case locked = 4

    /// The meaning of the code, for `dbtool help`.
    var meaning: String {
        switch self {
        case .ok: "success"
        case .difference: "damage or a difference was found"
        case .usage: "the command line, a name or a predicate is wrong"
        case .unavailable: "a file cannot be opened, read or written"
        case .locked: "another process has locked or changed the file"
        }
    }
}
