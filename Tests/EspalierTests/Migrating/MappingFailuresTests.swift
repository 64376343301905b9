// The rows against a migration by mappings: how many they are, and which are listed.

import EspalierModel
import EspalierStore
import Testing

@testable import Espalier

@Suite struct MappingFailuresTests {
    @Test func `a row that makes several objects is one, also after those that are listed`() {
        var failures = MappingFailures()
        let rows = (0..<150).map { _ in ObjectID(temporaryFor: "Song") }
        for row in rows {
            for subject in ["Track.verses", "Track.verses", "Album.songs"] {
                failures.add(subject, .otherDestination, row)
            }
        }

        #expect(failures.all.map(\.subject) == ["Track.verses", "Album.songs"])
        #expect(failures.all.map(\.rowCount) == [150, 150])
        #expect(failures.all.allSatisfy { $0.reason == .otherDestination && $0.objects == Array(rows.prefix(100)) })
    }
}
