// The tool on a running application: one process imports and commits all the time, and others read its store.
//
// The writer imports the music library in transactions of 20 rows, repeatedly and each time into a new file.
// ESPALIER_FOLLOW_SECONDS sets how long the tool reads; each verb runs at least once.

import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct LiveWriterTests {
    private static let looks: [[String]] = [
        ["info"], ["check"], ["audit"], ["dump", "--json"], ["fetch", "Album", "artist.name BEGINSWITH \"A\""],
        ["pages"], ["schema"],
    ]

    /// Starts an import into a new file and waits for its first commit.
    private static func startWriter(_ number: Int, in folder: URL) throws -> (process: Process, store: String) {
        let store = "live-\(number).espalier"
        let acknowledged = folder.appending(path: "acknowledged-\(number)")
        let writer = ToolRun.process(
            ["demo", store, "--commit-every", "20", "--acknowledge", acknowledged.path], in: folder)
        (writer.standardOutput, writer.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try writer.run()
        let deadline = Date(timeIntervalSinceNow: 120)
        while writer.isRunning, Date() < deadline, (try? Data(contentsOf: acknowledged).count) ?? 0 == 0 {
            Thread.sleep(forTimeInterval: 0.002)
        }
        return (writer, store)
    }

    private static func stop(_ writer: Process) {
        writer.terminate()
        writer.waitUntilExit()
    }

    @Test func `every verb that reads works beside a process that writes, and calls nothing damaged`() throws {
        try withTemporaryFolder { folder in
            let end = Date(timeIntervalSinceNow: Double(campaignCount("ESPALIER_FOLLOW_SECONDS", default: 2)))
            var (runs, liveRuns, outrun, writers) = (0, 0, 0, 1)
            var writer = try Self.startWriter(writers, in: folder)
            defer { Self.stop(writer.process) }
            repeat {
                for look in Self.looks {
                    // A reader may be outrun by checkpoints, on a busy machine more than once, but not without end.
                    var isOutrun = true
                    for _ in 0..<20 where isOutrun {
                        if !writer.process.isRunning {
                            writers += 1
                            writer = try Self.startWriter(writers, in: folder)
                        }
                        let arguments = [look[0], writer.store] + look.dropFirst()
                        let run = try ToolRun(executable: arguments, in: folder)

                        isOutrun = run.code == ExitCode.locked.rawValue
                        let text = "\(look): \(run.code) \(run.errors)\(run.output.suffix(500))"
                        #expect(run.code == 0 || isOutrun, "\(text)")
                        (runs, outrun) = (runs + 1, outrun + (isOutrun ? 1 : 0))
                        liveRuns += writer.process.isRunning ? 1 : 0
                    }
                    #expect(!isOutrun, "\(look) said nothing in 20 runs")
                }
            } while Date() < end
            print("\(runs) runs, \(liveRuns) of them beside one of \(writers) writers, \(outrun) outrun")
            #expect(liveRuns > 0, "the imports ended too early")
        }
    }

    @Test func `what is read through one open store is one view, whatever another process commits`() throws {
        try withTemporaryFolder { folder in
            let writer = try Self.startWriter(1, in: folder)
            defer { Self.stop(writer.process) }
            let path = folder.appending(path: writer.store).path
            let store = try OpenStore(path)
            let entity = try store.entity(named: "Genre")
            let counts = try store.model.entities.map { entity throws(ToolError) in try store.rowCount(of: entity) }
            let acknowledged = folder.appending(path: "acknowledged-1")
            let before = try Data(contentsOf: acknowledged).count
            let deadline = Date(timeIntervalSinceNow: 60)
            while try Data(contentsOf: acknowledged).count < before + 100, Date() < deadline {
                Thread.sleep(forTimeInterval: 0.002)
            }

            let later = try store.model.entities.map { entity throws(ToolError) in try store.rowCount(of: entity) }
            #expect(later == counts)
            #expect(try store.ids(of: entity).count == counts[entity.index])
            try store.close()
            let now = try OpenStore(path)
            let fresh = try now.model.entities.map { entity throws(ToolError) in try now.rowCount(of: entity) }
            #expect(fresh.reduce(0, +) > counts.reduce(0, +))
        }
    }
}
