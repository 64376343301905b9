// The costs of one operation of `bench --growth` at each size, and the verdict on their growth.
//
// Invariants
//   1. The exponent of a decade is the decimal logarithm of the ratio of the times of two sizes, one ten times the
//      other.
//   2. An operation grows too fast if it exceeds its expected exponent by more than 0.15, and by more than the greatest
//      excess of a control that does the same kind of work. No control excuses an operation of another kind, and each
//      excuse has a reason.
//   3. The memory of an operation on one object among many must not grow with them.

import Foundation

/// The costs of one operation at each size.
struct GrowthResult {
    /// The judgement on the growth of an operation.
    enum Verdict: Equatable {
        /// As expected.
        case expected
        /// Faster than expected, and no faster than the controls of its kind, whose greatest exponent this is.
        case excused(control: Double)
        case tooFast
    }

    let item: GrowthCase
    /// The numbers of objects, ascending.
    private let counts: [Int]
    /// Seconds of one run, by size; `nil`: not run.
    private(set) var seconds: [Double?]
    /// Bytes at the peak, by size; `nil`: not run.
    private(set) var peaks: [Int?]

    init(item: GrowthCase, counts: [Int]) {
        (self.item, self.counts) = (item, counts)
        seconds = Array(repeating: nil, count: counts.count)
        peaks = Array(repeating: nil, count: counts.count)
    }

    /// Adds a run with the size at `position`: the least time and the least peak count.
    mutating func add(_ seconds: Double, _ peak: Int, at position: Int) {
        self.seconds[position] = min(seconds, self.seconds[position] ?? seconds)
        peaks[position] = min(peak, peaks[position] ?? peak)
    }

    /// The time below which the fixed cost of an operation that runs once dominates.
    private static let secondsMin = 0.0002

    /// The exponents, by decade: `nil` where an operation that runs once is too short to measure, and infinity where a
    /// size was not run.
    var exponents: [Double?] {
        zip(seconds, seconds.dropFirst()).map { few, many -> Double? in
            guard let few, let many else { return .infinity }
            if item.isRepeated { return log10(max(many, 1e-9) / max(few, 1e-9)) }
            return many > Self.secondsMin ? log10(many / max(few, 1e-5)) : nil
        }
    }

    /// The greatest exponent of the decades that could be measured.
    var exponent: Double { exponents.reduce(0) { max($0, $1 ?? 0) } }

    /// How much faster than expected the operation grows in one of the decades.
    var excess: Double {
        let expected = zip(counts, counts.dropFirst()).map { item.expectedExponent(from: $0, to: $1) }
        return zip(exponents, expected).map { ($0 ?? 0) - $1 }.max() ?? 0
    }

    /// The excess that needs no reason: an exponent of 1.15 where 1 is expected.
    static let excessMax = 0.15
    /// The difference between two runs of a control, within which an operation is no faster than it.
    private static let controlSpread = 0.05

    /// Whether the memory of the last decade grows too fast.
    ///
    /// Blocks of the allocator dominate below 1 MiB, and below 8 MiB for an operation that has all objects in use.
    private var memoryGrowsTooFast: Bool {
        guard peaks.count > 1, let few = peaks[peaks.count - 2], let many = peaks[peaks.count - 1] else { return false }
        guard many > (item.power == 0 ? 1 : 8) << 20 else { return false }
        let exponent = log10(Double(many) / Double(max(few, 1 << 16)))
        return exponent > 0.35 + (item.power == 0 ? 0 : max(item.power, 1))
    }

    /// The judgement, beside the controls of all kinds.
    func verdict(_ controls: [GrowthResult]) -> Verdict {
        let control = controls.filter { $0.item.work == item.work }.max { $0.excess < $1.excess }
        if memoryGrowsTooFast || excess > max(Self.excessMax, (control?.excess ?? 0) + Self.controlSpread) {
            return .tooFast
        }
        guard excess > Self.excessMax, let control else { return .expected }
        return item.isControl ? .expected : .excused(control: control.exponent)
    }
}
