// The snapshots that the board lists, and the position up to which it lets a checkpoint proceed.

import EspalierEngine
import Testing

@Suite struct SnapshotBoardTests {
    private let index = LogIndex(capacity: 64)

    @Test func `a checkpoint goes as far as the oldest snapshot in use`() throws {
        let board = SnapshotBoard(state: StoreState(commit: 1), index: index)
        let old = try board.begin()
        board.publish(StoreState(commit: 2), index: index, at: 1)
        let middle = try board.begin()
        board.publish(StoreState(commit: 3), index: index, at: 2)

        #expect(board.checkpointTarget() == StoreState(commit: 1))
        board.end(old.mark)
        #expect(board.checkpointTarget() == StoreState(commit: 2))
        #expect(board.expireSnapshots(before: 3000) == 1)
        #expect(board.checkpointTarget() == StoreState(commit: 3))
        #expect(middle.mark.isExpired)
        board.end(middle.mark)
    }

    @Test func `a board that is closed lets nothing begin, and closes over nothing that is open`() throws {
        let board = SnapshotBoard(state: StoreState(commit: 1), index: index)
        let snapshot = try board.begin()
        try board.beginWriter()
        #expect(throws: StorageError.database(.transactionsOpen(count: 2))) { try board.close() }
        board.end(snapshot.mark)
        #expect(throws: StorageError.database(.transactionsOpen(count: 1))) { try board.close() }
        board.endWriter()
        try board.close()

        #expect(throws: StorageError.database(.closed)) { _ = try board.begin() }
        #expect(throws: StorageError.database(.closed)) { try board.beginWriter() }
        #expect(throws: StorageError.database(.closed)) { try board.close() }
    }

    @Test func `a checkpoint's smaller index never replaces one that lists more commits`() throws {
        let board = SnapshotBoard(state: StoreState(commit: 1), index: index)
        let newer = LogIndex(capacity: 64)
        let smaller = LogIndex(capacity: 64)
        board.publish(StoreState(commit: 2), index: newer, at: 1)

        board.replaceIndex(index, by: smaller)
        #expect(try board.begin().index === newer)
        board.replaceIndex(newer, by: smaller)
        #expect(try board.begin().index === smaller)
    }
}
