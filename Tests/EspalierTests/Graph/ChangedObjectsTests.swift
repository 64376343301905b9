// The lists of changed objects of a context, as they grow and shrink.

import Espalier
import Testing

@Suite struct ChangedObjectsTests {
    @Test func `a context of which most new objects were deleted takes new ones, however many were there`() throws {
        for count in 28..<36 {
            let stack = try Stack(.inMemory)
            let artists = (0..<count).map { _ in Artist(context: stack.context) }
            for artist in artists.prefix(count * 2 / 3) { try stack.context.delete(artist) }
            stack.context.processPendingChanges()
            for number in 1...9 {
                _ = Artist(context: stack.context)
                stack.context.processPendingChanges()
                #expect(stack.context.insertedObjects.count == count - count * 2 / 3 + number)
            }
        }
    }
}
