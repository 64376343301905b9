// Options of fetches for objects: without values, in pages, with refreshed objects, and orders for readers.

import Espalier
import EspalierModel
import Testing

@Suite struct FetchOptionTests {
    private func makeTracks(_ count: Int, _ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind)
        let context = stack.newContext()
        for number in 0..<count {
            let track = Track(context: context)
            (track.name, track.bytes) = ("track \(number)", count - number)
        }
        try context.save()
        return stack
    }

    @Test(arguments: StoreKind.allCases)
    func `without property values results are faults whose rows come with the first use, in one trip (FR-06)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeTracks(30, kind)
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        request.includesPropertyValues = false

        let tracks = try stack.context.fetch(request)

        #expect(tracks.count == 30 && tracks.allSatisfy { $0.isFault })
        #expect(stack.context.faultTrips == 0)
        #expect(tracks.map(\.name) == (0..<30).reversed().map { "track \($0)" })
        #expect(stack.context.faultTrips == 1)
        #expect("\(request.terms.debugDescription)".contains("without values"))
        let track = Track(context: stack.context)
        track.bytes = 0
        #expect(try stack.context.fetch(request).first === track)
    }

    @Test(arguments: StoreKind.allCases)
    func `pages are read when they are used, a few stay in memory, and the order is that of the fetch (FR-04)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeTracks(100, kind)
        let context = stack.context
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        request.fetchBatchSize = 10
        let new = Track(context: context)
        (new.name, new.bytes) = ("new", 0)

        let pages = try context.fetchPages(request)

        #expect(pages.count == 101 && pages.ids.count == 101 && context.registeredObjects.count == 1)
        #expect(pages[0] === new)
        #expect(pages[55].name == "track 45" && context.faultTrips == 2)
        #expect(context.registeredObjects.count == 20)
        #expect(pages.map(\.name) == ["new"] + (0..<100).reversed().map { "track \($0)" })
        #expect(context.registeredObjects.count <= 31, "\(context.registeredObjects.count) objects are in memory")
        // Later changes neither move nor add objects.
        new.bytes = 1000
        let other = stack.newContext()
        for track in try other.fetch(FetchRequest<Track>(FetchPredicate(format: "bytes == 100"))) {
            try other.delete(track)
        }
        try other.save()
        try context.save()
        #expect(pages.count == 101 && pages[0] === new && pages[1].name == "track 99")
        // The object of the deleted row was not retained.
        #expect(pages[15].name == "track 85" && pages[25].name == "track 75")
        #expect(pages[100].name.isEmpty && pages[100].isDeleted)
        #expect(try context.fetchPages(FetchRequest<Track>(FetchPredicate(format: "bytes < 0"))).isEmpty)
        let wrong = contextError {
            _ = try context.fetchPages(FetchRequest<Album>(entityName: "Track"))
        }
        guard case .wrongResultType(entity: "Track", found: _, expected: "Album")? = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `hooks that use other pages while one is read leave three pages in memory (FR-04)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: [Sheet.self])
        let maker = stack.newContext()
        for number in 0..<60 { Sheet(context: maker).number = number }
        try maker.save()
        let context = stack.context
        var request = FetchRequest<Sheet>(sortedBy: [SortKey("number")])
        (request.fetchBatchSize, request.returnsObjectsAsFaults) = (5, false)
        let pages = try context.fetchPages(request)
        var seen: [Int] = []
        let onFetch: (Int) -> Void = { number in
            if number == 10 { seen = [0, 55, 30, 45].map { pages[$0].number } }
        }
        context.userInfo["onFetch"] = onFetch
        // The closure retains the pages, which retain the context.
        defer { context.userInfo = [:] }

        #expect([20, 25, 40].map { pages[$0].number } == [20, 25, 40])
        #expect(pages[10].number == 10 && seen == [0, 55, 30, 45])
        #expect(context.registeredObjects.count == 15)
        #expect(pages.map(\.number) == Array(0..<60) && context.registeredObjects.count == 15)
    }

    @Test(arguments: StoreKind.allCases)
    func `a fetch refreshes objects in use if it is asked to, and keeps unsaved changes (FR-14)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeTracks(3, kind)
        let context = stack.context
        context.mergePolicy = .objectTrump
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        let tracks = try context.fetch(request)
        #expect(tracks.map(\.name) == ["track 2", "track 1", "track 0"])
        tracks[0].seconds = 7
        let other = stack.newContext()
        for track in try other.fetch(request) { track.name += "!" }
        try other.save()

        #expect(try context.fetch(request).map(\.name) == ["track 2", "track 1", "track 0"])
        request.shouldRefreshRefetchedObjects = true
        #expect(try context.fetch(request).map(\.name) == ["track 2!", "track 1!", "track 0!"])
        #expect(tracks[0].seconds == 7 && tracks[0].hasChanges)
        try context.save()
        #expect(try stack.stored(Track.self).filter { $0.seconds == 7 }.map(\.name) == ["track 2!"])
    }

    /// The calls that return the objects of a request.
    enum Fetching: CaseIterable {
        case list, enumeration, pages, progress
    }

    private func names(
        _ request: FetchRequest<Track>, _ way: Fetching, in context: ManagedObjectContext
    ) async throws -> [String] {
        switch way {
        case .list: return try context.fetch(request).map(\.name)
        case .enumeration:
            var names: [String] = []
            try context.enumerate(request, batchSize: 2) { names.append($0.name) }
            return names
        case .pages: return try context.fetchPages(request).map(\.name)
        case .progress: return try await context.fetch(request, progress: FetchProgress()).map(\.name)
        }
    }

    @Test(arguments: StoreKind.allCases, Fetching.allCases)
    func `whatever fetches refreshes objects in use and their locks if it is asked to (FR-14, MC-35)`(
        _ kind: StoreKind, _ way: Fetching
    ) async throws {
        let stack = try makeTracks(3, kind)
        let context = stack.context
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        let tracks = try context.fetch(request)
        #expect(tracks.map(\.name) == ["track 2", "track 1", "track 0"])
        try context.detectConflicts(for: tracks[1])
        let other = stack.newContext()
        for track in try other.fetch(request) { track.name += "!" }
        try other.save()

        let kept = try await names(request, way, in: context)
        request.shouldRefreshRefetchedObjects = true
        let refreshed = try await names(request, way, in: context)
        #expect(kept == ["track 2", "track 1", "track 0"])
        #expect(refreshed == ["track 2!", "track 1!", "track 0!"])
        #expect(tracks.map(\.name) == ["track 2!", "track 1!", "track 0!"])
        // The lock holds for the row that was read.
        tracks[0].seconds = 7
        try context.save()

        tracks[0].seconds = 8
        let third = stack.newContext()
        for track in try third.fetch(request) where track.name == "track 1!" { track.name = "track 1?" }
        try third.save()
        let again = try await names(request, way, in: context)
        #expect(again == ["track 2!", "track 1?", "track 0!"])
        #expect(tracks[1].name == "track 1?" && tracks[0].seconds == 8 && tracks[0].hasChanges)
    }

    @Test(arguments: StoreKind.allCases, [true, false])
    func `texts are sorted by the numbers in them, and for readers, in stores as in memory (FR-26)`(
        _ kind: StoreKind, _ isSaved: Bool
    ) throws {
        let stack = try Stack(kind)
        let names = [
            "file 10", "File 9", "file 9a", "file 09", "Zoë 2", "zoe 12", "Zoe 2", "Élan", "elan", "élan", "x٣", "x12",
            "v1.10.0", "v1.9.9", "", "10", "9", "file 99999999999999999999999", "file 100000000000000000000000",
        ]
        for name in names { Track(context: stack.context).name = name }
        if isSaved { try stack.context.save() }
        func sorted(_ options: ComparisonOptions, limit: Int = 0, ascending: Bool = true) throws -> [String] {
            var request = FetchRequest<Track>(
                sortedBy: [SortKey("name", ascending: ascending, options: options), SortKey("name")])
            request.fetchLimit = limit
            return try stack.context.fetch(request).map(\.name)
        }

        #expect(
            try sorted(.natural) == [
                "", "9", "10", "elan", "Élan", "élan", "File 9", "file 09", "file 9a", "file 10",
                "file 99999999999999999999999", "file 100000000000000000000000", "v1.9.9", "v1.10.0", "x٣", "x12",
                "Zoe 2", "Zoë 2", "zoe 12",
            ])
        #expect(
            try sorted(.numeric) == [
                "", "9", "10", "File 9", "Zoe 2", "Zoë 2", "elan", "file 09", "file 9a", "file 10",
                "file 99999999999999999999999", "file 100000000000000000000000", "v1.9.9", "v1.10.0", "x٣", "x12",
                "zoe 12", "Élan", "élan",
            ])
        #expect(try sorted(.numeric, limit: 3) == ["", "9", "10"])
        #expect(try sorted([.numeric, .caseInsensitive], limit: 6).suffix(3) == ["elan", "File 9", "file 09"])
        #expect(try sorted(.natural, ascending: false) == sorted(.natural).reversed())
    }

    @Test(arguments: StoreKind.allCases, [true, false])
    func `objects are sorted by an expression, saved or not, in stores as in memory (FR-26)`(
        _ kind: StoreKind, _ isSaved: Bool
    ) throws {
        let stack = try Stack(kind)
        for (name, seconds) in [("a", 22), ("b", 25), ("c", 10), ("d", 19)] as [(String, Int16)] {
            let track = Track(context: stack.context)
            (track.name, track.seconds) = (name, seconds)
        }
        if isSaved { try stack.context.save() }
        func sorted(_ format: String, limit: Int = 0, ascending: Bool = true) throws -> [String] {
            var request = FetchRequest<Track>(
                sortedBy: [SortKey(expression: try FetchExpression(format: format), ascending: ascending)])
            request.fetchLimit = limit
            return try stack.context.fetch(request).map(\.name)
        }

        #expect(try sorted("abs(seconds - 20)") == ["d", "a", "b", "c"])
        #expect(try sorted("abs(seconds - 20)", limit: 2, ascending: false) == ["c", "b"])
        #expect(try sorted("TERNARY(seconds > 20, 'x', 'a')", limit: 3, ascending: false).prefix(2) == ["a", "b"])
        for wrong in ["1 + 1", "TERNARY(seconds > 20, name, seconds)", "SELF", "nowhere + 1"] {
            let error = try #require(throws: (any Error).self) { try sorted(wrong) }
            #expect("\(error)".contains("sort key '\(wrong)'"), "\(error)")
        }
    }
}

/// An object that tells a closure of its context when its fault fires.
private final class Sheet: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription("Sheet", properties: [EntityDescription._property("number", Int.self, defaultValue: 0)])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }

    override func awakeFromFetch() { (managedObjectContext?.userInfo["onFetch"] as? (Int) -> Void)?(number) }
}
