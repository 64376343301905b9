// bench: measures Espalier beside its peers and prints one table.
//
//   swift run -c release --package-path Benchmarks bench [--quick] [--only TEXT] [--markdown FILE] [--json FILE]

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
        let options = try Options(CommandLine.arguments.dropFirst())
        let peers =
            [SQLite.shared.map { "SQLite \($0.version)" }, LMDB.shared.map { "LMDB \($0.version)" }].compactMap(\.self)
        var report = Report(environment: environmentFacts(peers: peers))
        for fact in report.environment { print("\(fact.name): \(fact.value)") }
        if SQLite.shared == nil { print("libsqlite3 is not on this machine: its columns are missing") }
        if LMDB.shared == nil { print("liblmdb is not on this machine: its columns are missing") }

        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "espalier-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        print("\nmicroseconds per operation (median), then how many times faster Espalier is")
        let scale = options.isQuick ? Scale.quick : .full
        let lines =
            EngineLines(scale: scale, folder: folder).all() + ObjectLines(count: scale.objects, folder: folder).all()
        for make in lines {
            let line = make()
            guard options.selects(line.name) else { continue }
            let result = try line.measure(repetitions: scale.repetitions, warmUps: 1)
            print(Report.terminalLine(result))
            report.results.append(result)
        }
        if let path = options.markdownPath {
            try report.markdown.write(toFile: path, atomically: true, encoding: .utf8)
        }
        if let path = options.jsonPath { try report.json().write(to: URL(fileURLWithPath: path)) }
    }
}

/// The command line.
struct Options {
    private(set) var isQuick = false
    private(set) var only: [String] = []
    private(set) var markdownPath: String?
    private(set) var jsonPath: String?

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            switch argument {
            case "--quick": isQuick = true
            case "--only": only.append(try Self.value(of: argument, rest.next()))
            case "--markdown": markdownPath = try Self.value(of: argument, rest.next())
            case "--json": jsonPath = try Self.value(of: argument, rest.next())
            default:
                throw UsageError(
                    "unknown argument '\(argument)'; there are --quick, --only TEXT, --markdown FILE and --json FILE"
                )
            }
        }
    }

    private static func value(of option: String, _ value: String?) throws -> String {
        guard let value else { throw UsageError("\(option) needs a value") }
        return value
    }

    func selects(_ name: String) -> Bool { only.isEmpty || only.contains { name.contains($0) } }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
