// A hash table from object IDs to values: what contexts and saves look up once or more for every object.
//
// Invariants
//   1. At most one entry per ID.
//   2. A line stands for 16 neighbouring keys of one entity and store. Lines are found by open addressing with linear
//      probing, at most half of their places in use: every search ends at a free one, mostly at the next. A line whose
//      entries are gone gives its place back at once, and those behind it move up: where objects come and go, nothing
//      piles up.
//   3. A line's number is mixed by one multiplication with a random odd number of the process: keys come from files,
//      and nobody who writes a file can know which lines will meet.
//   4. `values` has no order of its own: `places` says where the value of an ID is (1 more than its position, 0: none).
// Rows come and go in the order of their keys. With lines neighbours share cache lines, and their values stand side by
// side in the order in which they came: with a place of its own for every ID, each object that was fetched missed the
// cache three times, a third of a fetch. A dictionary would spend 20 ns on hashing alone. It is public because the
// compiler specializes a generic type of another module only then: unspecialized, it took half of a fetch.

/// Which keys the places of one line of a table are for.
///
/// Not within the table: the type of an array of a generic type's parts is looked up whenever one is made.
@usableFromInline
struct ObjectIDLine: Sendable {
    /// The number of the line among those of its entity and store, plus 1; 0 where the place is free.
    @usableFromInline var number: UInt64 = 0
    @usableFromInline var tags: UInt64 = 0
    /// How many of its keys have entries.
    @usableFromInline var entryCount: UInt32 = 0

    @inlinable
    init() {}

    @inlinable
    init(_ id: ObjectID) { (number, tags) = ((id.key >> 4) + 1, id.tags) }
}

/// Values by object ID.
public struct ObjectIDTable<Value> {
    @usableFromInline var lines: [ObjectIDLine] = []
    /// For each place of a line, those of its 16 keys.
    @usableFromInline var places: [UInt32] = []
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
        let place = places[self.place(of: id)]
        return place == 0 ? nil : values[Int(place) - 1]
    }

    /// Enters a value, in place of the one that `id` has.
    @inlinable
    public mutating func set(_ value: Value, for id: ObjectID) {
        let place = placeMakingRoom(for: id)
        guard places[place] == 0 else {
            values[Int(places[place]) - 1] = value
            return
        }
        if let position = free.popLast() {
            values[Int(position)] = value
            places[place] = position + 1
        } else {
            values.append(value)
            places[place] = UInt32(values.count)
        }
        lines[place >> 4].entryCount += 1
        used += 1
    }

    /// Takes out the entry of `id`, if there is one.
    @inlinable
    public mutating func remove(_ id: ObjectID) {
        guard used > 0 else { return }
        let place = place(of: id)
        guard places[place] != 0 else { return }
        values[Int(places[place]) - 1] = nil
        free.append(places[place] - 1)
        places[place] = 0
        used -= 1
        lines[place >> 4].entryCount -= 1
        if lines[place >> 4].entryCount == 0 { giveBack(place >> 4) }
    }

    /// Makes room for `count` entries in all, of neighbouring keys.
    @inlinable
    public mutating func reserveCapacity(_ count: Int) {
        values.reserveCapacity(count)
        let wanted = count / 16 + 1
        if wanted > lineCount, wanted * 2 > lines.count { layOut(forLines: wanted) }
    }

    /// All values, in no particular order.
    @inlinable
    public var allValues: some Sequence<Value> { values.lazy.compactMap(\.self) }

    // MARK: Places

    /// How many lines there is room for, free places among them.
    package var linePlaceCount: Int { lines.count }

    /// The place in `places` of `id`: one that says 0, in a line or where its line would be, if there is no entry.
    @inlinable
    func place(of id: ObjectID) -> Int { line(of: ObjectIDLine(id)) << 4 | Int(truncatingIfNeeded: id.key & 15) }

    /// Where `line` is, or the free place where it would be.
    @inlinable
    func line(of line: ObjectIDLine) -> Int {
        let mask = lines.count - 1
        var position = home(of: line)
        while lines[position].number != 0, lines[position].number != line.number || lines[position].tags != line.tags {
            position = (position + 1) & mask
        }
        return position
    }

    @inlinable
    func home(of line: ObjectIDLine) -> Int {
        let mixed = (line.number ^ line.tags << 48 ^ (line.tags >> 32) << 40) &* multiplier
        return Int(truncatingIfNeeded: mixed >> shift)
    }

    /// The place in `places` of `id`, whose line is there afterwards.
    @inlinable
    mutating func placeMakingRoom(for id: ObjectID) -> Int {
        if (lineCount + 1) * 2 > lines.count { layOut(forLines: lineCount + 1) }
        let place = place(of: id)
        if lines[place >> 4].number == 0 {
            lines[place >> 4] = ObjectIDLine(id)
            lineCount += 1
        }
        return place
    }

    /// Frees the place of a line without entries; lines that a search finds only across it move up.
    @inlinable
    mutating func giveBack(_ line: Int) {
        let mask = lines.count - 1
        var gap = line
        var next = (gap + 1) & mask
        while lines[next].number != 0 {
            // One whose home lies between the gap and itself is found without the gap.
            if (next &- home(of: lines[next])) & mask >= (next &- gap) & mask {
                move(next, to: gap)
                gap = next
            }
            next = (next + 1) & mask
        }
        lines[gap] = ObjectIDLine()
        lineCount -= 1
    }

    /// Moves a line with its entries to a place that has none.
    @inlinable
    mutating func move(_ line: Int, to gap: Int) {
        lines[gap] = lines[line]
        for key in 0..<16 {
            places[gap << 4 | key] = places[line << 4 | key]
            places[line << 4 | key] = 0
        }
    }

    /// Lays the lines out anew, with room for `count` and half as many more.
    @inlinable
    mutating func layOut(forLines count: Int) {
        let (oldLines, oldPlaces) = (lines, places)
        var bits: UInt64 = 2
        while count * 3 > 1 << bits { bits += 1 }
        shift = 64 - bits
        lines = Array(repeating: ObjectIDLine(), count: 1 << bits)
        places = Array(repeating: 0, count: 16 << bits)
        for old in oldLines.indices where oldLines[old].number != 0 {
            let new = line(of: oldLines[old])
            lines[new] = oldLines[old]
            for key in 0..<16 { places[new << 4 | key] = oldPlaces[old << 4 | key] }
        }
    }
}

extension ObjectIDTable: Sendable where Value: Sendable {}

extension ObjectID {
    /// Store and entity as one number.
    @inlinable var tags: UInt64 { UInt64(storeTag) << 32 | UInt64(entityTag) }
}

/// Random and odd, the same for all tables of a process.
@usableFromInline let tableMultiplier = UInt64.random(in: .min ... .max) | 1
