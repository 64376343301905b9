// Fetching with a condition that is a closure (issue of Core Data's predicateWithBlock:), which only memory can test.
//
// Invariants
//   1. Offset and limit count the objects that pass the closure.

public import EspalierModel

extension ManagedObjectContext {
    /// The objects of a request for which a closure is true too, in the request's order.
    ///
    /// The store tests the request's own condition; the closure is called in memory for each object that is left,
    /// until the limit is reached. Put into the request what a predicate can express:
    ///
    /// ```swift
    /// let recent = try FetchRequest<Album>(predicate: #Predicate { $0.year > 2000 })
    /// let palindromes = try context.fetch(recent) { $0.title == String($0.title.reversed()) }
    /// ```
    ///
    /// - Parameter isIncluded: The condition; it must not change the context.
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: O(n) for n objects that match the request without offset and limit: their rows are read and their
    ///   objects made, in batches if no order needs all at once.
    public func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, where isIncluded: (Object) -> Bool
    ) throws(ContextError) -> [Object] {
        var all = request
        (all.terms.fetchLimit, all.terms.fetchOffset) = (0, 0)
        let limit = request.fetchLimit > 0 ? request.fetchLimit : .max
        var (found, skipCount): ([Object], Int) = ([], max(0, request.fetchOffset))
        do {
            try enumerate(all) { object in
                guard isIncluded(object) else { return }
                if skipCount > 0 { return skipCount -= 1 }
                found.append(object)
                if found.count == limit { throw EndOfSearch() }
            }
        } catch let error as ContextError {
            throw error
        } catch {
            // The limit is reached: nothing else is thrown within.
        }
        return found
    }
}

/// Ends an enumeration whose limit is reached.
private struct EndOfSearch: Error {}
