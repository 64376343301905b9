// Five queries on the imported library, as an application would write them, each with its cost.
//
// Invariants
//   1. Each query runs in a context of its own, so that the context's counters of rows and faults are those of the
//      query.

import Espalier
import EspalierModel
import Foundation

/// One answered question.
struct ChinookAnswer {
    /// The question.
    let title: String
    /// The answer.
    let table: TextTable
    /// The time for fetching and walking the objects.
    let duration: Duration
    /// The number of rows that the store returned.
    let rowCount: Int
    /// The number of reads of the store that firing faults caused.
    let faultCount: Int

    /// The cost of the answer, in one line.
    var costText: String {
        "\(DisplayText.time(duration)), \(DisplayText.grouped(rowCount)) rows, "
            + (faultCount == 1 ? "1 fault" : "\(DisplayText.grouped(faultCount)) faults")
    }

    /// The answer for programs.
    var json: JSONValue {
        let nanoseconds = duration / .nanoseconds(1)
        return [
            "question": .string(title), "milliseconds": .number((nanoseconds / 1e4).rounded() / 100),
            "rowsFetched": .count(rowCount), "faults": .count(faultCount), "answer": table.json,
        ]
    }
}

/// Runs the queries.
struct ChinookQueries {
    private let store: DemoStore

    /// Queries on `store`.
    init(_ store: DemoStore) { self.store = store }

    /// All answers, in order.
    func answers() throws(ToolError) -> [ChinookAnswer] {
        [
            try answer("Tracks of AC/DC, through album and artist", tracksOfArtist),
            try answer("The ten longest tracks of Rock", longestTracks),
            try answer("Invoices by country: the ten countries with the greatest sum", invoicesByCountry),
            try answer("Who reports to whom", employeeTree),
            try answer("The playlists that have \"Intoitus: Adorate Deum\"", playlistsOfTrack),
        ]
    }

    private func answer(
        _ title: String, _ body: (ManagedObjectContext) throws -> TextTable
    ) throws(ToolError) -> ChinookAnswer {
        let context = store.makeContext()
        let clock = ContinuousClock()
        let start = clock.now
        let table: TextTable
        do { table = try body(context) } catch { throw ToolError(error, path: store.path) }
        return ChinookAnswer(
            title: title, table: table, duration: clock.now - start, rowCount: context.rowsFetched,
            faultCount: context.faultTrips)
    }

    private func tracksOfArtist(_ context: ManagedObjectContext) throws -> TextTable {
        var request = FetchRequest<Track>(try FetchPredicate(format: "album.artist.name == %@", "AC/DC"))
        request.sortKeys = [SortKey("album.title"), SortKey("name")]
        var table = TextTable([.text("track"), .text("album"), .number("length")])
        for track in try context.fetch(request) {
            table.append([track.name, track.album?.title ?? "", Self.length(track)])
        }
        return table
    }

    private func longestTracks(_ context: ManagedObjectContext) throws -> TextTable {
        var request = FetchRequest<Track>(try FetchPredicate(format: "genre.name == %@", "Rock"))
        request.sortKeys = [SortKey("milliseconds", ascending: false)]
        request.fetchLimit = 10
        var table = TextTable([.text("track"), .text("artist"), .number("length")])
        for track in try context.fetch(request) {
            table.append([track.name, track.album?.artist?.name ?? "", Self.length(track)])
        }
        return table
    }

    private func invoicesByCountry(_ context: ManagedObjectContext) throws -> TextTable {
        var sums: [String: (count: Int, total: Decimal)] = [:]
        for invoice in try context.fetch(FetchRequest<Invoice>()) {
            let sum = sums[invoice.billingCountry ?? "unknown", default: (0, 0)]
            sums[invoice.billingCountry ?? "unknown"] = (sum.count + 1, sum.total + invoice.total)
        }
        let ranked = sums.sorted { ($1.value.total, $0.key) < ($0.value.total, $1.key) }
        var table = TextTable([.text("country"), .number("invoices"), .number("sum")])
        for (country, sum) in ranked.prefix(10) {
            table.append([country, "\(sum.count)", Self.money(sum.total)])
        }
        let all = sums.values.reduce((count: 0, total: Decimal(0))) { ($0.count + $1.count, $0.total + $1.total) }
        table.append(["all \(sums.count) countries", "\(all.count)", Self.money(all.total)])
        return table
    }

    private func employeeTree(_ context: ManagedObjectContext) throws -> TextTable {
        let request = FetchRequest<Employee>(try FetchPredicate(format: "manager == nil"))
        var table = TextTable([.text("employee"), .text("title"), .number("customers")])
        for head in try context.fetch(request) { Self.appendTree(below: head, depth: 0, to: &table) }
        return table
    }

    private static func appendTree(below employee: Employee, depth: Int, to table: inout TextTable) {
        let indent = String(repeating: "   ", count: depth)
        table.append([
            "\(indent)\(employee.firstName) \(employee.lastName)", employee.title ?? "", "\(employee.customers.count)",
        ])
        for report in employee.reports.sorted(by: { $0.employeeID < $1.employeeID }) {
            appendTree(below: report, depth: depth + 1, to: &table)
        }
    }

    private func playlistsOfTrack(_ context: ManagedObjectContext) throws -> TextTable {
        let request = FetchRequest<Track>(try FetchPredicate(format: "name == %@", "Intoitus: Adorate Deum"))
        var table = TextTable([.text("playlist"), .number("its tracks")])
        for track in try context.fetch(request) {
            for playlist in track.playlists.sorted(by: { $0.playlistID < $1.playlistID }) {
                table.append([playlist.name ?? "", DisplayText.grouped(playlist.tracks.count)])
            }
        }
        return table
    }

    /// The duration of a track in minutes and seconds.
    private static func length(_ track: Track) -> String {
        let seconds = (track.milliseconds + 500) / 1000
        return "\(seconds / 60):" + (seconds % 60 < 10 ? "0" : "") + "\(seconds % 60)"
    }

    /// An amount with two digits after the decimal point.
    private static func money(_ amount: Decimal) -> String {
        DisplayText.fixed(NSDecimalNumber(decimal: amount).doubleValue, digits: 2)
    }
}
