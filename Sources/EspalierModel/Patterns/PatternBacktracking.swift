// Tries the paths through a pattern's program one after the other: for patterns with back-references or atomic groups.
//
// Invariants
//   1. Paths to be tried later are on a list, not on the stack; the steps of all paths together are limited, and with
//      them the length of that list.
//   2. Leaving a path restores the registers that it changed.

extension PatternMatch {
    private enum Later {
        case way(place: Int, position: Int)
        case register(Int, value: Int)
    }

    mutating func tryWays() throws(PatternLimit) -> Bool {
        var registers = Array(repeating: -1, count: program.registerCount)
        return try tryWays(0, from: 0, end: scalars.count, &registers) != nil
    }

    /// Tries all paths from instruction `start` at position `origin`; the first match keeps its registers.
    ///
    /// - Parameter end: the position at which the match must end; `nil` = anywhere.
    /// - Returns: the position at which the match ended; `nil` if no path matches, with the registers restored.
    private mutating func tryWays(
        _ start: Int, from origin: Int, end: Int?, _ registers: inout [Int]
    ) throws(PatternLimit) -> Int? {
        var later: [Later] = []
        var (place, position) = (start, origin)
        while true {
            try count()
            var isOnWay = true
            switch program.instructions[place] {
            case .match:
                if end == nil || end == position { return position }
                isOnWay = false
            case .jump(let target):
                place = target
                continue
            case .split(let first, let second):
                if later.count > Self.laterCountMax { throw limit }
                later.append(.way(place: second, position: position))
                place = first
                continue
            case .save(let register):
                later.append(.register(register, value: registers[register]))
                registers[register] = position
            case .advanced(let register): isOnWay = registers[register] != position
            case .assertion(let assertion): isOnWay = holds(assertion, at: position)
            case .look(let isAhead, let isNegative, _):
                let former = registers
                let isThere = try looks(place + 2, at: position, isAhead: isAhead, &registers)
                isOnWay = isThere != isNegative
                note(former, &registers, keeps: isOnWay && isThere, &later)
            case .atomic:
                let former = registers
                if let ended = try tryWays(place + 2, from: position, end: nil, &registers) {
                    note(former, &registers, keeps: true, &later)
                    position = ended
                } else {
                    isOnWay = false
                }
            case .backReference(let number, let ignoresCase):
                if let ended = try repeated(number, ignoresCase, at: position, registers) {
                    position = ended
                } else {
                    isOnWay = false
                }
            case let instruction:
                isOnWay = position < scalars.count && takes(instruction, scalars[position])
                if isOnWay { position += 1 }
            }
            if isOnWay {
                place += 1
                continue
            }
            guard let way = back(&later, &registers) else { return nil }
            (place, position) = way
        }
    }

    /// Removes and returns the last path on the list, and restores the registers changed since then.
    private func back(_ later: inout [Later], _ registers: inout [Int]) -> (Int, Int)? {
        while let last = later.popLast() {
            switch last {
            case .way(let place, let position): return (place, position)
            case .register(let register, let value): registers[register] = value
            }
        }
        return nil
    }

    /// Records the register changes of a group that was tried separately, so that they can be undone, or undoes them at
    /// once.
    private func note(_ former: [Int], _ registers: inout [Int], keeps: Bool, _ later: inout [Later]) {
        guard keeps else {
            registers = former
            return
        }
        for register in registers.indices where registers[register] != former[register] {
            later.append(.register(register, value: former[register]))
        }
    }

    private mutating func looks(
        _ entry: Int, at position: Int, isAhead: Bool, _ registers: inout [Int]
    ) throws(PatternLimit) -> Bool {
        if isAhead { return try tryWays(entry, from: position, end: nil, &registers) != nil }
        for start in stride(from: position, through: 0, by: -1)
        where try tryWays(entry, from: start, end: position, &registers) != nil {
            return true
        }
        return false
    }

    /// The end of the text of group `number` if it is repeated at `position`; `nil` if it is not, or if the group has
    /// not matched.
    private mutating func repeated(
        _ number: Int, _ ignoresCase: Bool, at position: Int, _ registers: [Int]
    ) throws(PatternLimit) -> Int? {
        let (start, end) = (registers[2 * number], registers[2 * number + 1])
        guard start >= 0, end >= start, end - start <= scalars.count - position else { return nil }
        try count(end - start)
        for offset in 0..<end - start {
            let (left, right) = (scalars[start + offset], scalars[position + offset])
            guard left == right || ignoresCase && left.foldedCase == right.foldedCase else { return nil }
        }
        return position + end - start
    }
}
