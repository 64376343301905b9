// What a verb of the tool is: a name, what may follow it, and what it does.

/// A verb: one per file under `Verbs/`.
protocol Verb: Sendable {
    /// Name, parameters, options and examples.
    static var usage: Usage { get }
    /// Does the work.
    ///
    /// - Returns: `.ok`, or `.difference` if what was asked for found damage.
    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode
}

/// What may stand behind a verb, for the parser and for the help text alike.
struct Usage: Sendable {
    /// A positional argument.
    struct Parameter: Sendable {
        /// The placeholder, in capitals.
        let name: String
        /// What to write there.
        let summary: String
        /// Whether it must be given; optional ones come last.
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
        /// What follows the name.
        enum Value: Sendable {
            /// Nothing: the option is there or not.
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
        /// What follows the name.
        let value: Value
        /// What it does.
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

    /// A command line to try.
    struct Example: Sendable {
        /// The whole command.
        let command: String
        /// What it shows.
        let meaning: String
    }

    /// The verb.
    let name: String
    /// One line.
    let summary: String
    /// The positional arguments in order.
    var parameters: [Parameter] = []
    /// The named arguments.
    var options: [Option] = []
    /// What one must know beyond the summary; lines of at most 100 columns.
    var discussion = ""
    /// At least one.
    let examples: [Example]

    /// `dbtool verb FILE [OTHER] [--option N]`; `[OPTIONS]` stands for more than three options.
    var synopsis: String {
        let positional = parameters.map { $0.isRequired ? $0.name : "[\($0.name)]" }
        let named = options.count > 3 ? ["[OPTIONS]"] : options.map { "[\($0.synopsis)]" }
        return (["dbtool", name] + positional + named).joined(separator: " ")
    }
}
