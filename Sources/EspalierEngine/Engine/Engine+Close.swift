// The close of an open store, and its statistics.

import Synchronization

extension Engine {
    /// Moves all commits into the store file, marks it clean and closes the files.
    ///
    /// No transaction is open or can begin.
    ///
    /// - Throws: `poisoned` after a failed sync: then nothing is written, and the next open recovers. `removed` if the
    ///   store file was removed. After other errors the next open recovers, too. The files are closed in any case.
    func close() throws(StorageError) {
        checkpointThread.withLock { $0.take() }?.stop()
        idleReads.empty { $0.endSnapshot() }
        var failure: StorageError?
        do throws(StorageError) {
            if log != nil {
                try syncs.check()
                guard try files.store.linkCount() > 0 else { throw StorageError.database(.removed(.store)) }
                try runCheckpoint(isLast: true)
                try disarmLog()
                assert(slot.isClean && log == nil, "the store is not whole without its log")
            }
        } catch {
            failure = error
        }
        assert(pool.checkInvariants())
        if let log = files.log {
            files.log = nil
            do throws(StorageError) { try log.close() } catch { failure = failure ?? error }
        }
        do throws(StorageError) { try files.store.close() } catch { failure = failure ?? error }
        if let failure { throw failure }
    }

    /// Closes the engine if its last handle was dropped before; called after the end of a transaction.
    @inline(__always)
    func closeIfAbandoned() {
        if isAbandoned.load(ordering: .sequentiallyConsistent) { Registry.closeAbandoned(self) }
    }

    /// The current statistics of the store.
    func statistics() -> DatabaseStatistics {
        let state = board.state
        let log = log
        var numbers = DatabaseStatistics()
        numbers.pageCount = UInt64(state.pageCount)
        numbers.freePageCount = UInt64(state.freeCount)
        numbers.logByteCount = log?.byteCount ?? 0
        let checkpoint = checkpointLSN.load(ordering: .acquiring)
        numbers.logLiveByteCount = log.map { $0.position > checkpoint ? $0.position - checkpoint : 0 } ?? 0
        numbers.transactionID = state.transactionID
        numbers.snapshotCount = board.snapshotCount
        numbers.cacheMisses = pool.missCount
        numbers.cachePageCapacity = pool.frameCount
        numbers.checkpointCount = checkpointCount.load(ordering: .relaxed)
        numbers.syncCount = syncs.syncCount
        return numbers
    }
}
