// A hash table from object IDs to values: what contexts and saves look up once or more for every row.
//
// Invariants
//   1. At most one entry per ID.
//   2. A line stands for 16 neighbouring keys of one entity and store. Lines are found by open addressing with linear
//      probing, at most half of their places in use: every search ends at a free one, mostly at the next. A line whose
//      entries are gone gives its place back at once, and those behind it move up: where objects come and go, nothing
//      piles up.
//   3. A line's number is mixed by one multiplication with a random odd number of the process: keys come from files,
//      and nobody who writes a file can know which lines will meet.
//   4. `values` has no order of its own: a line says where the value of an ID is (1 more than its position, 0: none).
// Rows come and go in the order of their keys. With lines neighbours share cache lines, and their values stand side by
// side in the order in which they came: with a place of its own for every ID, each object that was fetched missed the
// cache three times, a third of a fetch. A dictionary would spend 20 ns on hashing alone. It is public because the
// compiler specializes a generic type of another module only then: unspecialized, it took half of a fetch.

/// Which 16 keys, of one entity and store, a line of a table is for.
@usableFromInline
struct ObjectIDLineName: Sendable, Equatable {
    /// The number of the line among those of its entity and store, plus 1; 0 where the place is free.
    @usableFromInline var number: UInt64 = 0
    @usableFromInline var tags: UInt64 = 0

    @inlinable
    init() {}

    @inlinable
    init(of id: ObjectID) { (number, tags) = ((id.key >> 4) + 1, UInt64(id.storeTag) << 32 | UInt64(id.entityTag)) }
}

/// One line of a table: which keys it is for, and where their values are.
///
/// Not within the table: the type of an array of a generic type's parts is looked up whenever one is made.
@usableFromInline
struct ObjectIDLine: Sendable {
    @usableFromInline var name = ObjectIDLineName()
    /// How many of its keys have entries.
    @usableFromInline var entryCount: UInt32 = 0
    /// For each key, 1 more than the position of its value; 0: there is none.
    @usableFromInline var places: InlineArray<16, UInt32> = .init(repeating: 0)

    @inlinable
    init() {}

    /// Notes that the value of `id` is at `position`.
    @inlinable
    @inline(__always)
    mutating func enter(_ id: ObjectID, at position: UInt32) {
        name = ObjectIDLineName(of: id)
        places[id.placeInLine] = position + 1
        entryCount += 1
    }

    /// Forgets the place of `id`, which has one; returns whether others are left.
    @inlinable
    @inline(__always)
    mutating func leave(_ id: ObjectID) -> Bool {
        places[id.placeInLine] = 0
        entryCount -= 1
        return entryCount > 0
    }
}

/// Values by object ID.
public struct ObjectIDTable<Value> {
    @usableFromInline var lines: [ObjectIDLine] = []
    @usableFromInline var values: [Value?] = []
    /// Positions in `values` that are free.
    @usableFromInline var free: [UInt32] = []
    /// 64 less the number of bits of a line's place: the high bits of a product depend on all bits of the ID.
    @usableFromInline var shift: UInt64 = 64
    @usableFromInline let multiplier: UInt64
    @usableFromInline var lineCount = 0
    @usableFromInline var used = 0

    /// How many entries there are.
    @inlinable
    public var count: Int { used }

    /// A table without entries; it takes no memory before the first.
    @inlinable
    public init() { multiplier = tableMultiplier }

    /// The value of `id`.
    ///
    /// - Complexity: O(1).
    @inlinable
    public subscript(id: ObjectID) -> Value? {
        guard used > 0 else { return nil }
        let place = place(of: id, in: line(of: id))
        return place == 0 ? nil : values[Int(place) - 1]
    }

    /// Enters a value, in place of the one that `id` has.
    @inlinable
    public mutating func set(_ value: Value, for id: ObjectID) {
        if (lineCount + 1) * 2 > lines.count { layOut(forLines: lineCount + 1) }
        let line = line(of: id)
        let place = place(of: id, in: line)
        guard place == 0 else {
            values[Int(place) - 1] = value
            return
        }
        if lines[line].entryCount == 0 { lineCount += 1 }
        used += 1
        if free.isEmpty {
            lines[line].enter(id, at: UInt32(values.count))
            values.append(value)
        } else {
            let position = free.removeLast()
            lines[line].enter(id, at: position)
            values[Int(position)] = value
        }
    }

    /// Takes out the entry of `id`, if there is one.
    @inlinable
    public mutating func remove(_ id: ObjectID) {
        guard used > 0 else { return }
        let line = line(of: id)
        let place = place(of: id, in: line)
        guard place != 0 else { return }
        values[Int(place) - 1] = nil
        free.append(place - 1)
        used -= 1
        if !lines[line].leave(id) { giveBack(line) }
    }

    /// Makes room for `count` entries in all, of neighbouring keys.
    @inlinable
    public mutating func reserveCapacity(_ count: Int) {
        values.reserveCapacity(count)
        let wanted = count / 16 + 1
        if wanted > lineCount, wanted * 2 > lines.count { layOut(forLines: wanted) }
    }

    // MARK: Places

    /// How many lines there is room for, free places among them.
    package var linePlaceCount: Int { lines.count }

    /// What `line` says of where the value of `id` is.
    @inlinable
    @inline(__always)
    func place(of id: ObjectID, in line: Int) -> UInt32 {
        // By spans: the line would be copied to take one of its numbers.
        lines.span[line].places.span[id.placeInLine]
    }

    /// Where the line of `id` is, or the free place where it would be.
    @inlinable
    @inline(__always)
    func line(of id: ObjectID) -> Int { line(called: ObjectIDLineName(of: id)) }

    @inlinable
    @inline(__always)
    func line(called name: ObjectIDLineName) -> Int {
        let mask = lines.count - 1
        var position = home(of: name)
        while lines[position].name.number != 0, lines[position].name != name { position = (position + 1) & mask }
        return position
    }

    @inlinable
    @inline(__always)
    func home(of line: ObjectIDLineName) -> Int {
        let mixed = (line.number ^ line.tags << 48 ^ (line.tags >> 32) << 40) &* multiplier
        return Int(truncatingIfNeeded: mixed >> shift)
    }

    /// Frees the place of a line without entries; lines that a search finds only across it move up.
    @inlinable
    mutating func giveBack(_ line: Int) {
        let mask = lines.count - 1
        var gap = line
        var next = (gap + 1) & mask
        while lines[next].entryCount != 0 {
            // One whose home lies between the gap and itself is found without the gap.
            if (next &- home(of: lines[next].name)) & mask >= (next &- gap) & mask {
                lines[gap] = lines[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        lines[gap] = ObjectIDLine()
        lineCount -= 1
    }

    /// Lays the lines out anew, with room for `count` and half as many more.
    @inlinable
    mutating func layOut(forLines count: Int) {
        let oldLines = lines
        var bits: UInt64 = 2
        while count * 3 > 1 << bits { bits += 1 }
        shift = 64 - bits
        lines = Array(repeating: ObjectIDLine(), count: 1 << bits)
        for old in oldLines where old.entryCount != 0 { lines[line(called: old.name)] = old }
    }
}

extension ObjectIDTable: Sendable where Value: Sendable {}

extension ObjectID {
    /// Which of the 16 places of its line is that of the key.
    @inlinable var placeInLine: Int { Int(truncatingIfNeeded: key & 15) }
}

/// Random and odd, the same for all tables of a process.
@usableFromInline let tableMultiplier = UInt64.random(in: .min ... .max) | 1
