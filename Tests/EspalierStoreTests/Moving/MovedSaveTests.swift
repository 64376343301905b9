// Saves of others while a store is moved: each one is in the new store, or is refused.

import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

/// The data of a store that calls a closure before it saves; an error of the closure is that of the save.
private final class AskingSource: GraphSource {
    let willSave = Mutex<(@Sendable () throws -> Void)?>(nil)

    func load(_ model: ManagedObjectModel) throws -> StoredGraph? { nil }

    func save(_ graph: StoredGraph, _ model: ManagedObjectModel) throws {
        let ask = willSave.withLock { $0 }
        try ask?()
    }
}

@Suite struct MovedSaveTests {
    /// The request that inserts a tag.
    private func request(_ fixture: StoreFixture, _ number: Int) throws -> SaveRequest {
        var request = SaveRequest()
        request.insertions = [try fixture.insertion("Tag", ["label": .string("\(number)")])]
        return request
    }

    /// Whether an error says that the store is closed.
    private func isClosed(_ error: (any Error)?) -> Bool {
        if case StoreError.closed? = error as? StoreError { true } else { false }
    }

    @Test(arguments: StoreKind.allCases)
    func `a save beside the move of a store is in the new store, or is refused (PS-03)`(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let target = try StoreFixture(.memory, fixture.model)
        let store = fixture.store
        let requests = try (0..<40).map { try request(fixture, $0) }
        let outcome = Mutex<(savedCount: Int, error: (any Error)?)>((0, nil))
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            for request in requests {
                do { _ = try store.save(request) } catch {
                    outcome.withLock { $0.error = error }
                    break
                }
                outcome.withLock { $0.savedCount += 1 }
            }
            done.signal()
        }

        // The other thread ends, so that some attempt meets no save.
        var copy: StoreCopy?
        while copy == nil {
            do throws(StoreError) { copy = try store.move(to: target.store) } catch {
                guard case .invalidRequest = error else { throw error }
                #expect(try target.store.count(target.request("Tag")) == 0)
            }
        }
        done.wait()

        let (savedCount, error) = outcome.withLock { ($0.savedCount, $0.error) }
        #expect(try target.store.count(target.request("Tag")) == savedCount)
        let isAsExpected = savedCount == 40 ? error == nil : isClosed(error)
        #expect(isAsExpected, "\(savedCount) saves, then \(String(describing: error))")
        let later = #expect(throws: StoreError.self) { try store.save(requests[0]) }
        #expect(isClosed(later))
        #expect(throws: StoreError.self) { try store.setMetadata(["late": .integer(1)]) }
        #expect(try store.count(fixture.request("Tag")) == savedCount)
        try store.close()
    }

    @Test func `nothing is saved between the last look at a store and its move (PS-03)`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        _ = try fixture.insert("Tag", ["label": .string("first")])
        let source = AskingSource()
        let target = try WholeGraphStore(source, type: .binary, model: fixture.model)
        let (store, late) = (fixture.store, try request(fixture, 1))
        let refusal = Mutex<StoreError?>(nil)
        source.willSave.withLock { willSave in
            willSave = {
                do throws(StoreError) { _ = try store.save(late) } catch { refusal.withLock { $0 = error } }
            }
        }

        _ = try store.move(to: target)

        // A save of this thread would wait for itself.
        #expect(refusal.withLock { $0?.isAlreadyWriting } == true)
        #expect(try target.count(fixture.request("Tag")) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a store whose copy failed saves as before (PS-03)`(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let source = AskingSource()
        let target = try WholeGraphStore(source, type: .binary, model: fixture.model)
        source.willSave.withLock { $0 = { throw StoreError.readOnly(path: nil) } }

        #expect(throws: StoreError.self) { try fixture.store.move(to: target) }
        #expect(throws: StoreError.self) { try fixture.store.copy(to: fixture.store) }

        _ = try fixture.insert("Tag", ["label": .string("later")])
        #expect(try fixture.store.count(fixture.request("Tag")) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `metadata that a store does not take leave it without rows, so that it can be tried again (PS-03)`(
        _ kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(.outside)
        _ = try fixture.insert("Tag", ["label": .string("first")])
        let deep: AttributeValue = (0..<16).reduce(.integer(1)) { value, _ in .composite(["inner": value]) }
        try fixture.source.setMetadata(["deep": deep])
        let target = try StoreFixture(kind, fixture.model)

        #expect(throws: StoreError.self) { try fixture.store.move(to: target.store) }
        #expect(try target.store.count(target.request("Tag")) == 0)

        try fixture.source.setMetadata(["name": .string("flat")])
        _ = try fixture.store.move(to: target.store)
        #expect(try target.store.count(target.request("Tag")) == 1)
        #expect(try target.store.metadata() == ["name": .string("flat")])
    }
}
