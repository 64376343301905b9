// Versions of pages: a search gives the newest one before a log position.

import EspalierEngine
import Testing

@Suite struct LogIndexTests {
    @Test func `the newest version before a position is found, and none at it`() {
        let index = LogIndex(capacity: 64)
        for lsn in [UInt64(100), 200, 300] { index.append(7, at: LogPlace(lsn: lsn, fileOffset: lsn)) }

        #expect(index.newest(of: 7, before: 100) == .none)
        #expect(index.newest(of: 7, before: 101).lsn == 100)
        #expect(index.newest(of: 7, before: 200).lsn == 100)
        #expect(index.newest(of: 7, before: .max).lsn == 300)
        #expect(index.newest(of: 8, before: .max) == .none)
    }

    @Test func `a copy has the entries at a position and after it, and room for more`() {
        let index = LogIndex(capacity: 64)
        for lsn in UInt64(1)...64 { index.append(UInt32(lsn % 4) + 1, at: LogPlace(lsn: lsn, fileOffset: lsn)) }
        let copy = index.copy(from: 60, spare: 100)
        var kept: [UInt64] = []
        copy.forEach { _, place in kept.append(place.lsn) }

        #expect(!index.hasRoom(for: 1))
        #expect(kept == [60, 61, 62, 63, 64])
        #expect(copy.hasRoom(for: 100))
    }
}
