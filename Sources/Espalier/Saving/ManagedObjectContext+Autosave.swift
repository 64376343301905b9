// Saving without being asked, at the end of an event (SD-16).

extension ManagedObjectContext {
    /// Saves what has changed, outside of every running save; observers are told of an error.
    func autosave() {
        guard holdsChanges, eventDepth == 0, stage == nil else { return }
        do throws(ContextError) {
            try save()
        } catch .alreadySaving {
            // A parent is saving; the next event tries again.
        } catch {
            tellDidFailToAutosave(error)
        }
    }
}
