// Asserted invariants: in a debug build a caller that breaks one traps at that place, not where the effect shows.

#if DEBUG
    import EspalierEngine
    import Testing

    @Suite struct InvariantTests {
        @Test func `a snapshot that is ended twice stops the program`() async {
            await #expect(processExitsWith: .failure) {
                let board = SnapshotBoard(state: StoreState(commit: 1), index: LogIndex(capacity: 64))
                let snapshot = try board.begin()
                board.end(snapshot.mark)
                board.end(snapshot.mark)
            }
        }

        @Test func `a writer that leaves twice stops the program`() async {
            await #expect(processExitsWith: .failure) {
                let gate = WriterGate()
                try gate.enter()
                gate.leave()
                gate.leave()
            }
        }

        @Test func `a commit that comes after a later one stops the program`() async {
            await #expect(processExitsWith: .failure) {
                let index = LogIndex(capacity: 64)
                let board = SnapshotBoard(state: StoreState(commit: 0), index: index)
                let queue = CommitQueue(board: board, syncs: SyncGuard())
                for number in [2, 1] as [UInt64] {
                    queue.enqueue(StoreState(commit: number), index: index, wallClock: 1, needsSync: true)
                }
            }
        }

        @Test func `a frame that is shared by someone who has not taken it stops the program`() async {
            await #expect(processExitsWith: .failure) {
                let pool = try BufferPool(pageSize: 4096, byteCount: 0)
                pool.share(0, as: 7, version: 100)
            }
        }

        @Test func `a page that is in the cache twice stops the program`() async {
            await #expect(processExitsWith: .failure) {
                let pool = try BufferPool(pageSize: 4096, byteCount: 0)
                for _ in 0..<2 {
                    guard let frame = pool.takeFrame() else { return }
                    pool.share(frame, as: 7, version: 100)
                }
            }
        }

        @Test func `a pool that is used as it should be passes its checks`() throws {
            let pool = try BufferPool(pageSize: 4096, byteCount: 0)
            // Use more pages than frames, so that all frames are evicted, and rename or forget some of the pages.
            for page in 1...100 as ClosedRange<PageNumber> {
                let frame = try #require(pool.takeFrame())
                pool.share(frame, as: page, version: UInt64(page) * 100)
                if page % 3 == 0 { pool.rename(page, version: UInt64(page) * 100) }
                if page % 7 == 0 { pool.forget(page, version: UInt64(page) * 100) }
            }
            pool.forgetStorePages()

            #expect(pool.pinIfPresent(99, version: 0)?.number == nil)
            #expect(pool.pinIfPresent(100, version: 10_000)?.number == 100)
        }
    }
#endif
