// Follows all paths through a pattern's program at once (Thompson 1968): it keeps the set of active instructions after
// each scalar.
//
// Invariants
//   1. An instruction is visited at most once for each position of the text: time is O(text x program), memory
//      O(program).
//   2. A lookahead or lookbehind is evaluated at most once for each visit, and its steps count too.

extension PatternMatch {
    /// The question that a run of the program answers.
    private enum Goal {
        /// Whether the program matches the whole text.
        case whole
        /// Whether the program matches any text that begins at this position.
        case prefix(from: Int)
        /// The positions at which matches end, wherever they begin.
        case ends
    }

    mutating func simulate() throws(PatternLimit) -> Bool {
        try run(0, .whole)[0]
    }

    /// Runs the part of the program that begins at `entry`.
    ///
    /// - Returns: one answer; for `ends` one for each position of the text.
    private mutating func run(_ entry: Int, _ goal: Goal) throws(PatternLimit) -> [Bool] {
        var current = PlaceSet(count: program.instructions.count)
        var next = PlaceSet(count: program.instructions.count)
        var ends: [Bool] = []
        var position = 0
        var seedsAlways = false
        switch goal {
        case .whole: break
        case .prefix(let start): position = start
        case .ends: seedsAlways = true
        }
        try follow(entry, at: position, &current)
        while true {
            switch goal {
            case .whole: if position == scalars.count { return [current.hasMatch] }
            case .prefix: if current.hasMatch { return [true] }
            case .ends: ends.append(current.hasMatch)
            }
            if position == scalars.count { return seedsAlways ? ends : [false] }
            if current.places.isEmpty, !seedsAlways { return [false] }
            let scalar = scalars[position]
            position += 1
            next.removeAll()
            for place in current.places where takes(program.instructions[place], scalar) {
                try follow(place + 1, at: position, &next)
            }
            if seedsAlways { try follow(entry, at: position, &next) }
            swap(&current, &next)
        }
    }

    /// Adds every instruction that is reachable from `start` without consuming text.
    private mutating func follow(_ start: Int, at position: Int, _ set: inout PlaceSet) throws(PatternLimit) {
        set.open.append(start)
        while let place = set.open.popLast() {
            guard set.visit(place) else { continue }
            try count()
            switch program.instructions[place] {
            case .scalar, .folded, .any, .oneOf: set.places.append(place)
            case .match: set.hasMatch = true
            case .jump(let target): set.open.append(target)
            case .split(let first, let second):
                set.open.append(second)
                set.open.append(first)
            case .save, .advanced: set.open.append(place + 1)
            case .assertion(let assertion): if holds(assertion, at: position) { set.open.append(place + 1) }
            case .look(let isAhead, let isNegative, let number):
                let isThere =
                    isAhead ? try run(place + 2, .prefix(from: position))[0] : try ends(place, number)[position]
                if isThere != isNegative { set.open.append(place + 1) }
            // A program with these instructions is not simulated.
            case .atomic, .backReference: break
            }
        }
    }

    /// For each position, whether a match of the lookbehind at `place` ends there; computed once.
    private mutating func ends(_ place: Int, _ number: Int) throws(PatternLimit) -> [Bool] {
        if let ends = lookbehindEnds[number] { return ends }
        let ends = try run(place + 2, .ends)
        lookbehindEnds[number] = ends
        return ends
    }
}

/// A set of instructions, by index.
private struct PlaceSet {
    /// The instructions that consume a scalar.
    var places: [Int] = []
    var hasMatch = false
    /// The instructions still to be visited.
    var open: [Int] = []
    private var visited: [UInt32]
    private var round: UInt32 = 1

    init(count: Int) { visited = Array(repeating: 0, count: count) }

    /// Whether `place` is visited for the first time since the last `removeAll`.
    @inline(__always)
    mutating func visit(_ place: Int) -> Bool {
        guard visited[place] != round else { return false }
        visited[place] = round
        return true
    }

    mutating func removeAll() {
        places.removeAll(keepingCapacity: true)
        hasMatch = false
        if round == .max {
            visited = Array(repeating: 0, count: visited.count)
            round = 0
        }
        round += 1
    }
}
