//! Tells from managedFields which leaves of an intent are still ours.
