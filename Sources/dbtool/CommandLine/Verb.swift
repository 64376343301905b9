// The parts of a verb of the tool: its usage and its action.

/// A verb: one per file under `Verbs/`.
protocol Verb: Sendable {
    /// Name, parameters, options and examples.
    static var usage: Usage { get }
    /// Runs the verb.
    ///
    /// - Returns: `.ok`, or `.difference` if the verb found damage or a difference.
    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode
}

/// The arguments of a verb, for both the parser and the help text.
struct Usage: Sendable {
    /// A positional argument.
    struct Parameter: Sendable {
        /// The placeholder, in capitals.
        let name: String
        /// The meaning of the argument.
        let summary: String
        /// Whether it must be given; optional parameters are last.
        let isRequired: Bool

        /// A positional argument that must be given.
        static func required(_ name: String, _ summary: String) -> Parameter {
            Parameter(name: name, summary: summary, isRequired: true)
        }

        /// A positional argument that may be left out.
        static func optional(_ name: String, _ summary: String) -> Parameter {
            Parameter(name: name, summary: summary, isRequired: false)
        }
    }

    /// A named argument.
    struct Option: Sendable {
        /// The value after the name.
        enum Value: Sendable {
            /// No value: the option is a flag.
            case none
            /// A whole number within a range.
            case integer(ClosedRange<Int>)
            /// Any text.
            case text
        }
        /// The name with its two dashes.
        let name: String
        /// The placeholder of the value.
        let placeholder: String
        /// The value after the name.
        let value: Value
        /// The effect of the option.
        let summary: String

        /// An option without a value.
        static func flag(_ name: String, _ summary: String) -> Option {
            Option(name: name, placeholder: "", value: .none, summary: summary)
        }

        /// An option with a number.
        static func integer(
            _ name: String, _ placeholder: String, in range: ClosedRange<Int>, _ summary: String
        ) -> Option {
            Option(name: name, placeholder: placeholder, value: .integer(range), summary: summary)
        }

        /// An option with a text.
        static func text(_ name: String, _ placeholder: String, _ summary: String) -> Option {
            Option(name: name, placeholder: placeholder, value: .text, summary: summary)
        }

        /// `--json`: every verb that prints results has it.
        static let json = flag("--json", "print JSON for programs instead of tables")

        /// The name, with the placeholder of its value.
        var synopsis: String { placeholder.isEmpty ? name : "\(name) \(placeholder)" }
    }

    /// An example of a command line.
    struct Example: Sendable {
        /// The whole command.
        let command: String
        /// The result of the command.
        let meaning: String
    }

    /// The name of the verb.
    let name: String
    /// The purpose, in one line.
    let summary: String
    /// The positional arguments in order.
    var parameters: [Parameter] = []
    /// The named arguments.
    var options: [Option] = []
    /// Facts beyond the summary; lines of at most 100 columns.
    var discussion = ""
    /// The examples, at least one.
    let examples: [Example]

    /// `dbtool verb FILE [OTHER] [--option N]`; `[OPTIONS]` replaces more than three options.
    var synopsis: String {
        let positional = parameters.map { $0.isRequired ? $0.name : "[\($0.name)]" }
        let named = options.count > 3 ? ["[OPTIONS]"] : options.map { "[\($0.synopsis)]" }
        return (["dbtool", name] + positional + named).joined(separator: " ")
    }
}
