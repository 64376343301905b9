// bench: measures Espalier and its peers and prints one table.
//
//   swift run -c release --package-path Benchmarks bench [--quick] [--only TEXT] [--markdown FILE] [--json FILE]
//   ... bench --wordnet FOLDER     the Open English WordNet, if it is not in ../shared/data/english-wordnet
//   ... bench --cpu-time [...]     processor time in place of time, on a machine that does other work as well
//   ... bench --page-sizes [...]   the engine alone, at each page size
//   ... bench --scale [...]        cost and memory as stores grow to 10,000,000 rows, with the peers
//   ... bench --growth [--large]   the cost of operations of the object layer as stores grow (Growth.md)
//   ... bench --quick --large      the quick run, with migrations and imports of 1,000,000 rows
//   ... bench --queries [--rows COUNT]   only queries, batch requests and dumps, of so many rows: 100,000 or 1,000,000
//   ... bench --memory GIB         the memory of a process that uses a large store

import BenchKit
import Foundation
import Peers

@main
struct Bench {
    static func main() {
        do {
            try run()
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(error is UsageError ? 2 : 1)
        }
    }

    private static func run() throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "--child" { return try ChildRun.run(Array(arguments.dropFirst())) }
        let options = try Options(arguments)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "espalier-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        if case .memory(let gibibytes) = options.mode {
            return try MemoryRun(gibibytes: gibibytes, folder: folder).run()
        }
        if case .growth = options.mode { return try growth(options, in: folder) }
        let report = try measure(options, in: folder)
        if let path = options.markdownPath {
            let command = (["bench"] + CommandLine.arguments.dropFirst()).joined(separator: " ")
            try report.markdown(command: command).write(toFile: path, atomically: true, encoding: .utf8)
        }
        if let path = options.jsonPath { try report.json().write(to: URL(fileURLWithPath: path)) }
    }

    private static func growth(_ options: Options, in folder: URL) throws {
        let counts = [1000, 10_000, 100_000] + (options.isLarge ? [1_000_000] : [])
        let table = try GrowthRun(counts: counts, only: options.only, folder: folder).run()
        defer { fflush(nil) }
        if let path = options.markdownPath { try write(table, to: path) }
        let problems = table.problems
        if !problems.isEmpty { throw GrowthFailure(problems: problems) }
    }

    private static func write(_ table: GrowthTable, to path: String) throws {
        let command = (["bench"] + CommandLine.arguments.dropFirst()).joined(separator: " ")
        let facts = environmentFacts(peers: []).map { "* \($0.name): \($0.value)\n" }.joined()
        let text = """
            # Growth

            Written by `\(command)`, which fails if a line grows too fast. Processor time of the whole operation, the \
            least of three runs, or of up to nine while an operation seems to grow too fast; the exponent of a decade \
            is the decimal logarithm of the ratio of both times, and "short" is a time of less than 0.2 ms. Expected \
            is 0 for an operation on one object among all, 1 for one on all of them, and more by the logarithm for one \
            that sorts them (n log n); the first kind is repeated until it has taken a millisecond, and its time is \
            that of one run. The memory is how much more the process has in use during the operation than before it, \
            the least of these runs: it grows too fast where it grows faster than the objects, and at all where the \
            expected exponent is 0. The last column has the reason of an exponent that is expected to be another one \
            than a reader might think, or names the controls that grow as fast: plain Swift that does the same kind \
            of work in the same run.

            \(facts)
            \(table.markdown)
            """
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static func measure(_ options: Options, in folder: URL) throws -> Report {
        let peers =
            [SQLite.shared.map { "SQLite \($0.version)" }, LMDB.shared.map { "LMDB \($0.version)" }].compactMap(\.self)
        var report = Report(environment: environmentFacts(peers: peers))
        for fact in report.environment { print("\(fact.name): \(fact.value)") }
        if SQLite.shared == nil { print("libsqlite3 is not installed, so its columns are missing") }
        if LMDB.shared == nil { print("liblmdb is not installed, so its columns are missing") }

        print("\nmedians, then how many times as much the others take as the first")
        let scale = options.isQuick ? Scale.quick : .full
        // Reading the texts takes as long as a few lines, so do it only for lines that need them.
        let net = options.selectsAny("wordnet") ? try WordNet(folder: options.wordNetFolder) : nil
        for (title, lines) in sections(options, scale, net, folder) {
            var section = ReportSection(title)
            for make in lines {
                let line = make()
                guard options.selects(line.name) else { continue }
                // Bytes are the same in each run, so one run is enough. Children need no warm-up.
                let repeats =
                    options.mode.isOfScale
                    ? (ScaleLines.runCountMax, 0) : line.unit == .bytes ? (1, 0) : (scale.repetitions, 1)
                let result = try line.measure(repetitions: repeats.0, warmUps: repeats.1)
                print(Report.terminalLine(result))
                fflush(nil)
                section.results.append(result)
            }
            report.sections.append(section)
        }
        return report
    }

    private static func sections(
        _ options: Options, _ scale: Scale, _ net: WordNet?, _ folder: URL
    ) -> [(title: String, lines: [() -> Line])] {
        let movedCount = scale.isQuick && !options.isLarge ? 100_000 : 1_000_000
        switch options.mode {
        case .pageSizes: return [("Page sizes", PageSizeLines(scale: scale, folder: folder).all())]
        case .scale:
            let counts = scale.isQuick ? [10_000, 100_000, 1_000_000] : [10_000, 100_000, 1_000_000, 10_000_000]
            return [("Scale", ScaleLines(counts: counts, folder: folder).all())]
        case .peers, .memory, .growth:
            let wordNet = net.map { [("WordNet", WordNetLines(net: $0, folder: folder).all())] }
            return [
                ("Engine", EngineLines(scale: scale, folder: folder).all()),
                ("Opening", RecoveryLines(folder: folder, isQuick: scale.isQuick).all()),
                ("Objects", ObjectLines(count: options.rowCount ?? scale.objects, folder: folder).all()),
                ("Memory", MemoryLines(count: 100_000, folder: folder).all()),
                (
                    "Rules",
                    CascadeLines(count: options.rowCount ?? (scale.isQuick ? 10_000 : 100_000), folder: folder).all()
                ),
                ("Members", MemberLines(count: scale.isQuick ? 100_000 : 1_000_000, folder: folder).all()),
                ("Checking", CheckLines(count: scale.isQuick ? 100_000 : 1_000_000, folder: folder).all()),
                ("Rebuilding", RebuildLines(count: scale.isQuick ? 100_000 : 1_000_000, folder: folder).all()),
                ("Migration", MigrationLines(count: movedCount, folder: folder).all()),
                ("Import", ImportLines(count: movedCount, folder: folder).all()),
                (
                    "Queries",
                    QueryLines(count: options.rowCount ?? (scale.isQuick ? 100_000 : 1_000_000), folder: folder).all()
                ),
                (
                    "Dumps",
                    DumpLines(count: options.rowCount ?? 100_000, folder: folder, toolPath: options.toolPath).all()
                ),
                ("Large values", LargeLines(count: scale.isQuick ? 100 : 1_000, folder: folder).all()),
                ("Folding", FoldingLines(counts: [1000, scale.isQuick ? 10_000 : 100_000]).all()),
            ] + (wordNet ?? [])
        }
    }
}

/// The command line.
struct Options {
    /// The kind of measurement.
    enum Mode {
        /// All lines, with the peers.
        case peers
        /// The engine with all page sizes.
        case pageSizes
        /// All sizes of stores, with the peers.
        case scale
        /// The cost of operations as stores grow.
        case growth
        /// The memory of a process that uses a store of `gibibytes` GiB.
        case memory(gibibytes: Double)

        var isOfScale: Bool { if case .scale = self { true } else { false } }
    }

    private(set) var mode = Mode.peers
    private(set) var isQuick = false
    private(set) var isLarge = false
    private(set) var only: [String] = []
    private(set) var markdownPath: String?
    private(set) var jsonPath: String?
    /// The number of rows of queries, batch requests and dumps; `nil` = that of the run.
    private(set) var rowCount: Int?
    /// The path of `dbtool`; `nil` = that of the package's release build.
    private(set) var toolPath: String?
    private(set) var wordNetFolder = URL(fileURLWithPath: "../shared/data/english-wordnet")

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            switch argument {
            case "--quick": isQuick = true
            case "--cpu-time": break  // the stopwatch asks for it
            case "--page-sizes": mode = .pageSizes
            case "--scale": mode = .scale
            case "--growth": mode = .growth
            case "--large": isLarge = true
            case "--memory": mode = .memory(gibibytes: try Self.number(of: argument, rest.next()))
            case "--queries": only += Self.queryLines
            case "--rows": rowCount = try Self.count(of: argument, rest.next())
            case "--dbtool": toolPath = try Self.value(of: argument, rest.next())
            case "--only": only.append(try Self.value(of: argument, rest.next()))
            case "--markdown": markdownPath = try Self.value(of: argument, rest.next())
            case "--wordnet": wordNetFolder = URL(fileURLWithPath: try Self.value(of: argument, rest.next()))
            case "--json": jsonPath = try Self.value(of: argument, rest.next())
            default: throw UsageError("unknown argument '\(argument)'; the arguments are \(Self.usage)")
            }
        }
    }

    private static let usage =
        "--quick, --cpu-time, --only TEXT, --queries, --rows COUNT, --dbtool FILE, --page-sizes, --scale, --growth, "
        + "--large, --memory GIB, --wordnet FOLDER, --markdown FILE and --json FILE"
    /// Parts of the names of the lines that read or change many rows by one request.
    private static let queryLines = [
        "objects fault in", "objects by index", "objects range, sort", "objects prefix", "objects filter ==",
        "objects count", "values group by", "objects join to-one", "expand many to many", "batch ", "dump",
    ]

    private static func value(of option: String, _ value: String?) throws -> String {
        guard let value else { throw UsageError("\(option) needs a value") }
        return value
    }

    private static func number(of option: String, _ value: String?) throws -> Double {
        guard let number = Double(try Self.value(of: option, value)), number > 0, number < 1000 else {
            throw UsageError("\(option) needs a number between 0 and 1000")
        }
        return number
    }

    private static func count(of option: String, _ value: String?) throws -> Int {
        guard let count = Int(try Self.value(of: option, value)), (1000...10_000_000).contains(count) else {
            throw UsageError("\(option) needs a number between 1000 and 10000000")
        }
        return count
    }

    /// Whether the options may select a line whose name contains `part`.
    func selectsAny(_ part: String) -> Bool {
        guard case .peers = mode else { return false }
        return only.isEmpty || only.contains { $0.contains(part) || part.contains($0) }
    }

    func selects(_ name: String) -> Bool { only.isEmpty || only.contains { name.contains($0) } }
}

/// Operations grow faster than they must, or have thrown.
private struct GrowthFailure: Error, CustomStringConvertible {
    let problems: [String]
    var description: String { problems.joined(separator: "; ") }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
