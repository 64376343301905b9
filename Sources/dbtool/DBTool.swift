// The command line as a function: arguments in, text on two sinks, exit code out.
//
// Invariants
//   1. Results are written to `output`, everything else (errors, progress) to `errors`.
//   2. Each failure ends here: it becomes one message that begins with `dbtool: ` and one of the five exit codes.
//   3. A verb's parameters, options, examples and code are in one file under `Verbs/`; this file only lists the verbs.

/// The tool.
enum DBTool {
    /// The version of the tool and of its package.
    static let version = "0.1.0"

    /// All verbs, in the order of `dbtool help`.
    static let verbs: [any Verb.Type] = [
        DemoVerb.self, InfoVerb.self, CheckVerb.self, AuditVerb.self, PagesVerb.self, PageVerb.self, SchemaVerb.self,
        DumpVerb.self, FetchVerb.self, BackupVerb.self, RestoreVerb.self, CompactVerb.self, ShrinkVerb.self,
        SalvageVerb.self, RebuildVerb.self, RepairVerb.self, DiffModelsVerb.self, MigrateVerb.self,
        ConvertVerb.self, ImportCoreDataVerb.self,
    ]

    /// Runs one command line.
    ///
    /// - Parameter arguments: the arguments without the tool's own name.
    static func run(arguments: [String], console: Console) -> ExitCode {
        var code: ExitCode
        do throws(ToolError) {
            code = try dispatch(arguments, console)
        } catch {
            console.errors.write("dbtool: \(error)\n")
            code = error.exitCode
        }
        console.output.flush()
        console.errors.flush()
        if let failure = console.output.failure {
            console.errors.write("dbtool: the output cannot be written: \(failure)\n")
            code = .unavailable
        }
        return code
    }

    private static func dispatch(_ arguments: [String], _ console: Console) throws(ToolError) -> ExitCode {
        guard let first = arguments.first else {
            Help.printOverview(to: console.errors)
            return .usage
        }
        let rest = Array(arguments.dropFirst())
        switch first {
        case "--help", "-h": Help.printOverview(to: console.output)
        case "--version": console.print("dbtool \(version)")
        case "help": try Help.run(rest, console)
        default:
            let verb = try verb(named: first)
            if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
                Help.print(verb.usage, to: console.output)
                return .ok
            }
            return try verb.run(try ArgumentParser(verb.usage).parse(rest), console)
        }
        return .ok
    }

    /// The verb called `name`.
    static func verb(named name: String) throws(ToolError) -> any Verb.Type {
        if let verb = verbs.first(where: { $0.usage.name == name }) { return verb }
        let names = verbs.map { $0.usage.name } + ["help"]
        let kind = name.hasPrefix("-") ? "option" : "verb"
        let candidates = kind == "option" ? ["--help", "--version"] : names
        throw .usage(
            UsageError(
                message: "unknown \(kind) '\(name)'", suggestion: Suggestion.closest(to: name, among: candidates),
                hint: "'dbtool help' lists the verbs"))
    }
}
