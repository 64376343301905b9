// SIGKILL of real importing processes: every acknowledged commit is stored, and no commit is stored in part.
//
// Each round imports the library in transactions of 20 rows, kills the process soon after a random row, and checks the
// store: it is intact and holds exactly the first n rows, where n is the last acknowledged number, or one commit more.
// ESPALIER_KILLS sets the number of rounds.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ImportKillTests {
    private static let commitInterval = 20

    @Test func `after a kill the store holds exactly the acknowledged commits, or one more`() throws {
        let tables = try ChinookTables.load()
        var random = SeededGenerator(seed: testSeed(default: 781))
        var interrupted = 0
        for round in 0..<campaignCount("ESPALIER_KILLS", default: 3) {
            try withTemporaryFolder { folder in
                let target = Int.random(in: 1...tables.rowCount - 1000, using: &random)
                let delay = Double.random(in: 0...0.02, using: &random)
                let acknowledged = try Self.importAndKill(in: folder, atRow: target, delay: delay)
                let stored = try Self.verifiedRowCount(in: folder, tables)

                #expect(
                    stored == acknowledged || stored == min(acknowledged + Self.commitInterval, tables.rowCount),
                    "round \(round), to be killed at row \(target): \(acknowledged) acknowledged, \(stored) stored")
                if acknowledged > 0 && acknowledged < tables.rowCount { interrupted += 1 }
            }
        }
        #expect(interrupted > 0, "no process was killed during its import")
    }

    /// Starts an import, kills it, and returns the last number of rows that it acknowledged.
    private static func importAndKill(in folder: URL, atRow target: Int, delay: Double) throws -> Int {
        let process = ToolRun.process(
            ["demo", "killed.espalier", "--commit-every", "\(commitInterval)", "--acknowledge", "acknowledged"],
            in: folder)
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        let file = folder.appending(path: "acknowledged")
        let deadline = Date(timeIntervalSinceNow: 120)
        while process.isRunning, Date() < deadline, acknowledgedRowCount(in: file) < target {
            Thread.sleep(forTimeInterval: 0.002)
        }
        Thread.sleep(forTimeInterval: delay)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return acknowledgedRowCount(in: file)
    }

    /// The number in the last whole line of the acknowledgments; 0 if there is none yet.
    private static func acknowledgedRowCount(in file: URL) -> Int {
        let text = String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().last.flatMap { Int($0) } ?? 0
    }

    /// The number of stored rows, after checks that the store is intact and that they are exactly the first rows of the
    /// import.
    private static func verifiedRowCount(in folder: URL, _ tables: ChinookTables) throws -> Int {
        let path = folder.appendingPathComponent("killed.espalier").path
        let check = ToolRun("check", path)
        #expect(check.code == 0, "\(check.output)\(check.errors)")

        let store = try DemoStore.open(path)
        let found = try Self.keys(store.makeContext())
        try store.close()

        let count = found.reduce(0) { $0 + $1.count }
        var rest = count
        for (table, (found, expected)) in zip(tables.counts.map(\.table), zip(found, Self.keys(tables))) {
            let first = Set(expected.prefix(rest))
            #expect(found == first, "\(table) holds other rows than the first \(first.count)")
            rest -= first.count
        }
        return count
    }

    /// The keys of the stored objects and links, table by table in the order of the import.
    private static func keys(_ context: ManagedObjectContext) throws -> [Set<[Int]>] {
        func keys<Object: ManagedObject>(_ class: Object.Type, _ key: (Object) -> [Int]) throws -> Set<[Int]> {
            Set(try context.fetch(FetchRequest<Object>()).map(key))
        }
        return [
            try keys(Genre.self) { [$0.genreID] }, try keys(MediaType.self) { [$0.mediaTypeID] },
            try keys(Artist.self) { [$0.artistID] },
            try keys(Album.self) { [$0.albumID, $0.artist?.artistID ?? 0] },
            try keys(Track.self) { [$0.trackID, $0.album?.albumID ?? 0] },
            try keys(Employee.self) { [$0.employeeID, $0.manager?.employeeID ?? 0] },
            try keys(Customer.self) { [$0.customerID, $0.supportRep?.employeeID ?? 0] },
            try keys(Invoice.self) { [$0.invoiceID, $0.customer?.customerID ?? 0] },
            try keys(InvoiceLine.self) { [$0.invoiceLineID, $0.invoice?.invoiceID ?? 0, $0.track?.trackID ?? 0] },
            try keys(Playlist.self) { [$0.playlistID] },
            Set(
                try context.fetch(FetchRequest<Playlist>()).flatMap { list in
                    list.tracks.map { [list.playlistID, $0.trackID] }
                }),
        ]
    }

    /// The keys of each table's rows in the order of the import.
    private static func keys(_ tables: ChinookTables) -> [[[Int]]] {
        [
            tables.genre.map { [$0.genreID] }, tables.mediaType.map { [$0.mediaTypeID] },
            tables.artist.map { [$0.artistID] }, tables.album.map { [$0.albumID, $0.artistID] },
            tables.track.map { [$0.trackID, $0.albumID ?? 0] },
            tables.employee.map { [$0.employeeID, $0.reportsTo ?? 0] },
            tables.customer.map { [$0.customerID, $0.supportRepID ?? 0] },
            tables.invoice.map { [$0.invoiceID, $0.customerID] },
            tables.invoiceLine.map { [$0.invoiceLineID, $0.invoiceID, $0.trackID] },
            tables.playlist.map { [$0.playlistID] }, tables.playlistTrack.map { [$0.playlistID, $0.trackID] },
        ]
    }
}
