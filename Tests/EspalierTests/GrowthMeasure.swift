// The measure of the tests of growth: steps, rows and trips of an operation with few objects and with many.

import Espalier
import EspalierModel
import Foundation
import Testing

/// Expects the count of `measure` to grow no faster than the number of objects to the power of `power`.
///
/// - Parameter making: makes a store of that many objects; of papers, unless it is given.
func expectGrowth(
    _ power: Double, _ fewCount: Int = 1000, _ manyCount: Int = 10_000,
    sourceLocation: SourceLocation = #_sourceLocation, making: (Int) throws -> Stack = { try Stack.ofPapers($0) },
    _ measure: (Stack) throws -> Int
) throws {
    let (few, many) = (try measure(making(fewCount)), try measure(making(manyCount)))
    let exponent = log(Double(max(many, 1)) / Double(max(few, 1))) / log(Double(manyCount) / Double(fewCount))
    #expect(few > 0, "nothing was counted", sourceLocation: sourceLocation)
    #expect(
        exponent <= power + 0.15,
        "\(few) steps with \(fewCount) objects, \(many) with \(manyCount): exponent \(exponent)",
        sourceLocation: sourceLocation)
}

/// The steps of `body`, plus its reads from the store: 16 for each trip and 1 for each row.
///
/// - Parameter isInStores: whether the rows count, too, that the stores have looked at.
func work(_ context: ManagedObjectContext, isInStores: Bool = false, _ body: () throws -> Void) throws -> Int {
    let (trips, rows) = (context.faultTrips, context.rowsFetched)
    let (steps, storeRows) = try StepCount.count(of: body)
    return steps + (isInStores ? storeRows : 0) + 16 * (context.faultTrips - trips) + context.rowsFetched - rows
}
