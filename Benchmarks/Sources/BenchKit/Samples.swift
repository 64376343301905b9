// The figures of one contender on one line.

/// Repeated measurements of the same work, in nanoseconds per operation.
package struct Samples: Sendable {
    /// The measurements in ascending order.
    package let sorted: [Double]

    /// Sorts the measurements, of which there must be at least one.
    package init(_ values: [Double]) {
        precondition(!values.isEmpty, "no measurement")
        sorted = values.sorted()
    }

    /// The middle measurement.
    package var median: Double { quantile(0.5) }

    /// The distance between the extremes, as a share of the median.
    package var spread: Double { (sorted[sorted.count - 1] - sorted[0]) / median }

    /// The value below which `share` (0...1) of the measurements are, by linear interpolation.
    package func quantile(_ share: Double) -> Double {
        let position = share * Double(sorted.count - 1)
        let lower = Int(position)
        let upper = min(lower + 1, sorted.count - 1)
        return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
    }
}
