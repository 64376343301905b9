// Readers beside a writer: the time of a read while another thread commits without pause.

import BenchKit
import Foundation
import Synchronization

extension EngineLines {
    /// `readwhilewriting` with one and two readers.
    func threadLines() -> [() -> Line] {
        [1, 2].map { readers in { readsBesideWriter(readerCount: readers) } }
    }

    private func readsBesideWriter(readerCount: Int) -> Line {
        let perReader = scale.reads / 4
        return Line(
            "readwhilewriting \(readerCount)",
            note:
                "\(readerCount) reading threads, 100 reads a transaction, beside one that overwrites 100 random keys a "
                + "transaction, not synced; wall clock per read of all threads",
            operationCount: perReader * readerCount,
            contenders: contenderTypes.map { type in
                Line.Contender(type.name) {
                    let store = try filled(type)
                    let time = try timeOfReaders(readerCount, reads: perReader, beside: store)
                    try store.close()
                    return time
                }
            })
    }

    private func timeOfReaders(_ count: Int, reads: Int, beside store: any KeyValueContender) throws -> Double {
        let isOver = Atomic(false)
        let failures = Mutex([any Error]())
        // SAFETY: one thread at a time uses a contender: the writer has `store`, and each reader has a contender of its
        // own.
        nonisolated(unsafe) let writer = store
        nonisolated(unsafe) let readers = try (0..<count).map { _ in try store.reader() }
        let keys = (0..<count).map { random(reads, seed: UInt64(40 + $0)) }
        let (updates, value) = (random(100_000, seed: 50), value)
        let writing = runInThread {
            var start = 0
            do {
                while !isOver.load(ordering: .relaxed) {
                    try writer.put(Array(updates[start..<start + 100]), value: value, batch: 100)
                    start = (start + 100) % updates.count
                }
            } catch { failures.withLock { $0.append(error) } }
        }
        let time = wallNanoseconds {
            let threads = (0..<count).map { number in
                runInThread {
                    do {
                        for start in stride(from: 0, to: reads, by: 100) {
                            let some = Array(keys[number][start..<min(start + 100, reads)])
                            blackHole(try readers[number].get(some, transactionPerRead: false))
                        }
                    } catch { failures.withLock { $0.append(error) } }
                }
            }
            for thread in threads { thread.wait() }
        }
        isOver.store(true, ordering: .relaxed)
        writing.wait()
        for reader in readers where reader !== store { try reader.close() }
        if let failure = failures.withLock({ $0.first }) { throw failure }
        return time
    }
}

/// Runs `body` in a thread, which signals the semaphore at its end.
private func runInThread(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        isOver.signal()
    }
    return isOver
}
