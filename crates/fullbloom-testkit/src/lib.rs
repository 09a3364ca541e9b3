//! Test helpers of fullbloom.
